import { spoolDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';

/**
 * Whether files may be removed for their age, which only the wall clock tells. A clock that was set to 2038 would make
 * everything old at once: ages count when the process has seen the wall clock go on evenly for a day.
 */
export class AgeJudge {
  readonly #clock: Clock;
  #evenSinceMs: number;
  /** Of the wall clock, against the steady one. */
  #aheadMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#evenSinceMs = clock.now();
    this.#aheadMs = clock.wall() - clock.now();
  }

  /** To be asked at each look: a clock that was set since the last one begins the day anew. */
  agesCount(): boolean {
    const nowMs = this.#clock.now();
    const aheadMs = this.#clock.wall() - nowMs;
    if (Math.abs(aheadMs - this.#aheadMs) > spoolDefaults.clockStepMs) this.#evenSinceMs = nowMs;
    this.#aheadMs = aheadMs;
    return nowMs - this.#evenSinceMs >= spoolDefaults.clockEvenMs;
  }
}
