import { backoffMs } from '../core/backoff.ts';
import { clientDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { HttpAnswer } from '../wire/judge.ts';
import { onAbort } from '../wire/on-abort.ts';
import { clientClosed } from './closed.ts';
import { toTaskError, worthAgain } from './errors.ts';

/** How long somebody goes on asking, and how long he waits in between. */
export class Patience {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #signal: AbortSignal | undefined;
  readonly #closed: AbortSignal;
  readonly #until: number;
  #waits = 0;

  /** @param closed of the client: who waits does so no longer. @param signal of the caller. */
  constructor(
    clock: Clock,
    random: Random,
    timeoutMs: number,
    closed: AbortSignal,
    signal?: AbortSignal,
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#closed = closed;
    this.#signal = signal;
    this.#until = clock.now() + timeoutMs;
  }

  /** Milliseconds; 0 or less when it is over. */
  get left(): number {
    return this.#until - this.#clock.now();
  }

  /** The client was closed: nothing is asked any more. */
  get closed(): boolean {
    return this.#closed.aborted;
  }

  /** Waits before the next try, at least as long as the peer asked for. `false`: there is none. */
  async wait(retryAfterMs = 0): Promise<boolean> {
    const { retry } = clientDefaults;
    this.#waits++;
    const fraction = this.#random.fraction();
    // What the peer asked for is only ever lengthened.
    const asked = retryAfterMs === 0 ? 0 : retryAfterMs + fraction * retry.jitter * retry.initialMs;
    const ms = Math.max(asked, backoffMs(retry, this.#waits, fraction));
    return ms < this.left && (await this.#sleep(ms));
  }

  #sleep(ms: number): Promise<boolean> {
    const signals = [this.#signal, this.#closed];
    if (signals.some((signal) => signal?.aborted)) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (slept: boolean) => {
        timer.cancel();
        for (const deaf of listening) deaf();
        resolve(slept);
      };
      const timer = this.#clock.timer(ms, () => end(true));
      const listening = signals.map((signal) => onAbort(signal, () => end(false)));
    });
  }

  /** Something went well: the next wait is a short one again. */
  renewed(): void {
    this.#waits = 0;
  }
}

/**
 * Asks until there is an answer or the patience is over. What is no success is thrown as a `TaskError`.
 * After `close()` of the client that is `CLIENT_CLOSED`, at once.
 * @param limitMs of one try. @param once one try.
 */
export async function insist<T>(
  patience: Patience,
  limitMs: number,
  once: (timeoutMs: number) => Promise<HttpAnswer<T>>,
): Promise<Extract<HttpAnswer<T>, { kind: 'ok' }>> {
  if (patience.closed) throw clientClosed(false);
  for (;;) {
    const { left } = patience;
    // A single try gets the whole time of a call; of several the last one ends with the patience.
    const answer = await once(left > 0 ? Math.min(limitMs, left) : limitMs);
    if (answer.kind === 'ok') return answer;
    const worth = worthAgain(answer);
    if (worth && (await patience.wait(answer.retryAfterMs))) continue;
    throw worth && patience.closed ? clientClosed(true) : toTaskError(answer);
  }
}
