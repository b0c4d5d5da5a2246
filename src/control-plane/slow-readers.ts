import { BASE_PATH } from '../contract/limits.ts';
import { operations } from '../contract/operations.ts';
import { LIVE_PATH } from '../pages/live.ts';
import type { Clock } from '../ports/clock.ts';

/** An answer that is on its way to its reader, as far as it is known here. */
export interface Outgoing {
  once(event: 'close', done: () => void): unknown;
  destroy(): unknown;
}

/**
 * Cuts readers that do not take their answer: it stays in memory until they have. Streams are not meant, which have no
 * end: those are cut at a bound of what waits for them (`EventStream`). Woken by time while answers are on their way.
 */
export class SlowReaders {
  readonly #clock: Clock;
  readonly #answerMs: number;
  readonly #everyMs: number;
  readonly #pressedMs: number;
  readonly #pressed: () => boolean;
  readonly #onCut: (afterMs: number) => void;
  /** In the order in which they were made. */
  readonly #since = new Map<Outgoing, number>();
  #waiting = false;

  constructor(options: {
    readonly clock: Clock;
    /** Between the moment when an answer is made and the one when its reader has it. */
    readonly answerMs: number;
    /** How often it is looked. */
    readonly everyMs: number;
    /** Instead of `answerMs`, while others wait for the memory. */
    readonly pressedMs: number;
    readonly pressed: () => boolean;
    readonly onCut: (afterMs: number) => void;
  }) {
    this.#clock = options.clock;
    this.#answerMs = options.answerMs;
    this.#everyMs = options.everyMs;
    this.#pressedMs = options.pressedMs;
    this.#pressed = options.pressed;
    this.#onCut = options.onCut;
  }

  /** How many answers are on their way. */
  get size(): number {
    return this.#since.size;
  }

  /** @param path as it was asked for, with its query. */
  began(outgoing: Outgoing, path: string): void {
    if (STREAMS.test(path)) return;
    this.#since.set(outgoing, this.#clock.now());
    outgoing.once('close', () => this.#since.delete(outgoing));
    this.#look();
  }

  #look(): void {
    if (this.#waiting || this.#since.size === 0) return;
    this.#waiting = true;
    this.#clock.timer(this.#everyMs, () => {
      this.#waiting = false;
      const afterMs = this.#pressed() ? Math.min(this.#pressedMs, this.#answerMs) : this.#answerMs;
      const since = this.#clock.now() - afterMs;
      for (const [outgoing, at] of this.#since) {
        if (at > since) break;
        this.#since.delete(outgoing);
        outgoing.destroy();
        this.#onCut(afterMs);
      }
      this.#look();
    });
  }
}

const STREAMS = new RegExp(
  `^(?:https?://[^/]*)?(?:${LIVE_PATH}|${BASE_PATH}(?:${operations
    .filter(({ answers }) => answers[200] === 'sse')
    .map(({ path }) => path)
    .join('|')}))/?(?:\\?|$)`,
);
