import type { Clock, Patience, Timer } from '../ports/clock.ts';
import { WireFault } from './fault.ts';
import { onAbort } from './on-abort.ts';

/**
 * Time limit and cancellation of one call. It has an abort signal of its own, so that a signal which lives
 * as long as the process holds a listener only while the call lasts.
 */
export class Limit {
  readonly #controller = new AbortController();
  readonly #timer: Timer;
  /** Stops listening to the caller's signal. */
  readonly #deaf: () => void;
  /** Of the work that is waited for. */
  #reject: ((fault: WireFault) => void) | undefined;

  constructor(
    clock: Clock,
    timeoutMs: number,
    at: string,
    outer?: AbortSignal,
    patience?: Patience,
  ) {
    const stop = (fault: WireFault) => {
      this.#reject?.(fault);
      this.#controller.abort(fault);
    };
    const tooLate = () => stop(new WireFault('timeout', late(at, timeoutMs)));
    this.#timer = clock.timer(timeoutMs, tooLate, patience);
    const given = () => stop(new WireFault('aborted', givenUp(at)));
    this.#deaf = onAbort(outer, given);
    if (outer?.aborted) given();
  }

  /** For the fetch: aborts when the time is over or the caller gives up. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The work's value; rejects at the limit, also where the work does not heed the signal. One work at a time. */
  bounded<T>(work: Promise<T>, tooLate: (value: T) => void = () => {}): Promise<T> {
    return new Promise((resolve, reject) => {
      const { signal } = this.#controller;
      if (signal.aborted) reject(signal.reason);
      this.#reject = reject;
      work.then((value) => (signal.aborted ? tooLate(value) : resolve(value)), reject);
    });
  }

  /** From here on only the caller's signal counts: a stream may last. */
  stopTimer(): void {
    this.#timer.cancel();
  }

  /** The call is over: nothing of it is left behind. */
  end(): void {
    this.#timer.cancel();
    this.#deaf();
  }

  /** Ends a call that is still going on. */
  abandon(): void {
    this.end();
    this.#controller.abort(new WireFault('aborted', 'The stream was closed here.'));
  }
}

/** The sentence for no answer in time. @param at the address, as people write it. */
export function late(at: string, timeoutMs: number): string {
  return `${at} did not answer within ${Math.round(timeoutMs / 100) / 10} s.`;
}

/** The sentence for a call that its caller ended. */
export function givenUp(at: string): string {
  return `The call to ${at} was given up here.`;
}
