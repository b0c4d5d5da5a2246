import type { MessagePort } from 'node:worker_threads';
import { sdkDefaults } from '../core/sdk-defaults.ts';
import type { Clock } from '../ports/clock.ts';
import type { KeySource } from '../wire/key.ts';
import type { FromAgent } from './agent-words.ts';

/**
 * The key in the agent's thread: the last one that the user's source has told. Renewals use it without asking anybody. A
 * source that is asked again and does not answer soon (a handler holds its thread) counts as not read; its answer is
 * taken whenever it comes.
 */
export class AgentKey implements KeySource {
  readonly #port: MessagePort;
  readonly #clock: Clock;
  #key: string;
  #count = 0;
  #asked: { n: number; answered: Promise<boolean>; answer(read: boolean): void } | undefined;

  constructor(key: string, port: MessagePort, clock: Clock) {
    this.#key = key;
    this.#port = port;
    this.#clock = clock;
  }

  current(): string {
    return this.#key;
  }

  async reload(): Promise<string | undefined> {
    const { answered } = this.#ask();
    const enough = new AbortController();
    const read = await Promise.race([
      answered,
      this.#clock.sleep(sdkDefaults.keyWaitMs, enough.signal).then(() => false),
    ]);
    enough.abort();
    return read ? this.#key : undefined;
  }

  /** @param answer to the question of this number. */
  tell(key: string | undefined, answer: number | undefined): void {
    if (key !== undefined) this.#key = key;
    if (answer === undefined || this.#asked?.n !== answer) return;
    this.#asked.answer(key !== undefined);
    this.#asked = undefined;
  }

  /** One question at a time, however often it is asked meanwhile. */
  #ask() {
    if (this.#asked) return this.#asked;
    const n = ++this.#count;
    let answer = (_read: boolean) => {};
    const answered = new Promise<boolean>((resolve) => {
      answer = resolve;
    });
    this.#asked = { n, answered, answer };
    this.#port.postMessage({ t: 'reload', n } satisfies FromAgent);
    return this.#asked;
  }
}
