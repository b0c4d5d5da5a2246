import { PassingMap } from '../core/passing-map.ts';
import {
  claimable,
  type SlotCount,
  type SlotUse,
  slotCount,
  slotUse,
  startable,
} from '../core/slots.ts';
import type { Held } from './held.ts';

/** Who holds a slot or waits for one, counted as it changes: thousands of slots are not walked for each event. */
export class SlotBook {
  /** Oldest first: few, also where a long outage left many reports. */
  readonly #uses = new PassingMap<Held, SlotUse>();
  readonly #waiting = new PassingMap<Held, true>();
  readonly #tally = { waiting: 0, working: 0, ending: 0 };
  #endingBytes = 0;

  /** Its state may be another. */
  note(held: Held): void {
    const before = this.#uses.get(held);
    const use = slotUse(held.state);
    if (before === use) return;
    if (before !== undefined) this.#tally[before]--;
    if (use !== undefined) this.#tally[use]++;
    if (use === undefined) this.#uses.delete(held);
    else this.#uses.set(held, use);
    if (use === 'waiting') this.#waiting.set(held, true);
    else if (before === 'waiting') this.#waiting.delete(held);
    if (use === 'ending') this.#endingBytes += held.resultBytes ?? 0;
    else if (before === 'ending') this.#endingBytes -= held.resultBytes ?? 0;
  }

  /** How many attempts hold a slot. */
  get held(): number {
    return this.#tally.working + this.#tally.ending;
  }

  /** How many wait for one. */
  get waits(): number {
    return this.#tally.waiting;
  }

  claimable(max: number): number {
    return claimable(max, this.#tally);
  }

  count(max: number): SlotCount {
    return slotCount(max, this.#tally);
  }

  /** How many of those that wait may begin. */
  startable(max: number, diskRefuses: boolean): number {
    return startable(max, this.#tally, this.#endingBytes, diskRefuses);
  }

  /** Oldest first. */
  get waiting(): Iterable<Held> {
    return this.#waiting.keys();
  }

  [Symbol.iterator](): IterableIterator<Held> {
    return this.#uses.keys();
  }
}
