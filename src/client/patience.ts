import { backoffMs } from '../core/backoff.ts';
import { clientDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { HttpAnswer } from '../wire/judge.ts';
import { toTaskError, worthAgain } from './errors.ts';

/** How long somebody goes on asking, and how long he waits in between. */
export class Patience {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #signal: AbortSignal | undefined;
  readonly #until: number;
  #waits = 0;

  constructor(clock: Clock, random: Random, timeoutMs: number, signal?: AbortSignal) {
    this.#clock = clock;
    this.#random = random;
    this.#signal = signal;
    this.#until = clock.now() + timeoutMs;
  }

  /** Milliseconds; 0 or less when it is over. */
  get left(): number {
    return this.#until - this.#clock.now();
  }

  /** Waits before the next try, at least as long as the peer asked for. `false`: there is none. */
  async wait(retryAfterMs = 0): Promise<boolean> {
    const { retry } = clientDefaults;
    this.#waits++;
    const fraction = this.#random.fraction();
    // What the peer asked for is only ever lengthened.
    const asked = retryAfterMs === 0 ? 0 : retryAfterMs + fraction * retry.jitter * retry.initialMs;
    const ms = Math.max(asked, backoffMs(retry, this.#waits, fraction));
    return ms < this.left && (await this.#clock.sleep(ms, this.#signal));
  }

  /** Something went well: the next wait is a short one again. */
  renewed(): void {
    this.#waits = 0;
  }
}

/**
 * Asks until there is an answer or the patience is over. What is no success is thrown as a `TaskError`.
 * @param limitMs of one try. @param once one try.
 */
export async function insist<T>(
  patience: Patience,
  limitMs: number,
  once: (timeoutMs: number) => Promise<HttpAnswer<T>>,
): Promise<Extract<HttpAnswer<T>, { kind: 'ok' }>> {
  for (;;) {
    // A single try gets the whole time of a call; of several the last one ends with the patience.
    const answer = await once(patience.left > 0 ? Math.min(limitMs, patience.left) : limitMs);
    if (answer.kind === 'ok') return answer;
    const again = worthAgain(answer) && (await patience.wait(answer.retryAfterMs));
    if (!again) throw toTaskError(answer);
  }
}
