import { PassingMap } from '../core/passing-map.ts';
import type { Clock, Timer } from '../ports/clock.ts';

/**
 * One timer for many that wait equally long: who comes later is due later. Most leave before their time, so the timer is
 * not set again for each: it runs on and looks who is left.
 */
export class SameWait<Item> {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #due: (item: Item) => void;
  /** When each is due; the soonest first. */
  readonly #waiting = new PassingMap<Item, number>();
  #timer: Timer | undefined;

  /** @param due called once for each that has waited for `ms`. */
  constructor(clock: Clock, ms: number, due: (item: Item) => void) {
    this.#clock = clock;
    this.#ms = ms;
    this.#due = due;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Those that wait, the longest first. */
  items(): IterableIterator<Item> {
    return this.#waiting.keys();
  }

  add(item: Item): void {
    // At the end of the order, whatever it was before.
    this.#waiting.delete(item);
    this.#waiting.set(item, this.#clock.now() + this.#ms);
    this.#timer ??= this.#clock.timer(this.#ms, () => this.#look());
  }

  delete(item: Item): boolean {
    return this.#waiting.delete(item);
  }

  /** Nobody is told any more. */
  close(): void {
    this.#waiting.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #look(): void {
    const now = this.#clock.now();
    try {
      // The spent timer stays meanwhile: whom `due` adds arms none of the full length.
      for (const [item, at] of this.#waiting) {
        if (at > now) break;
        this.#waiting.delete(item);
        this.#due(item);
      }
    } finally {
      this.#timer = undefined;
      const [next] = this.#waiting.values();
      if (next !== undefined) {
        const left = Math.max(0, next - this.#clock.now());
        this.#timer = this.#clock.timer(left, () => this.#look());
      }
    }
  }
}
