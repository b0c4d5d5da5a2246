import { workerDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import { pauseMs } from './refusals.ts';

/**
 * Whether the control plane answers reports at all. Silence is about the line, not about a report: while it lasts one
 * report at a time asks on, with backoff. After it, and at any sign of it, groups begin with one and double with every
 * answer, so that a report which nobody answers (a proxy that dislikes its words) is soon alone and holds up no other.
 */
export class ReportLine {
  readonly #clock: Clock;
  readonly #random: Random;
  #silences = 0;
  #until = Number.NEGATIVE_INFINITY;
  #groupMax = Number.POSITIVE_INFINITY;
  /** The pause was asked for. */
  #asked = false;
  #tried = false;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  get silent(): boolean {
    return this.#silences > 0;
  }

  /** Nothing is sent before that. */
  get openAt(): number {
    return this.#until;
  }

  /** Reports in one call at most, now. */
  get groupMax(): number {
    return this.silent ? 1 : this.#groupMax;
  }

  /** Calls at once at most, now. */
  get callsMax(): number {
    return this.silent ? 1 : CALLS_MAX;
  }

  /** `true` if that ends a silence. */
  answered(): boolean {
    const was = this.silent;
    this.#tried = false;
    this.#silences = 0;
    this.#until = Number.NEGATIVE_INFINITY;
    this.#groupMax *= 2;
    return was;
  }

  /** Returns how long nothing is sent. */
  unanswered(retryAfterMs: number | undefined): number {
    this.#silences++;
    this.#asked = retryAfterMs !== undefined;
    this.#groupMax = 1;
    const fraction = this.#random.fraction();
    const pause = pauseMs(workerDefaults.retry, this.#silences, fraction, retryAfterMs);
    this.#until = this.#clock.now() + pause;
    return pause;
  }

  /** Another call was answered: at once, if only the line was to blame. One try for each silence. @returns whether it opened. */
  tryNow(): boolean {
    if (!this.silent || this.#asked || this.#tried) return false;
    this.#tried = true;
    this.#until = Number.NEGATIVE_INFINITY;
    return true;
  }

  /** There is a new key: at once. */
  open(): void {
    this.#until = Number.NEGATIVE_INFINITY;
  }
}

/** The next group gathers while others wait for their answers. */
const CALLS_MAX = 4;
