import { diskDefaults } from '../core/defaults.ts';

/**
 * How a disk does at the moment. What is added to a file goes into the system's memory and is written in the event loop,
 * which nobody notices, unless the disk is slow or hangs: then such a write may wait too, and renewals must not wait with it.
 */
export class DiskPace {
  /** When the syncs began that are under way, oldest first. */
  readonly #syncs = new Set<{ readonly at: number }>();
  readonly #now: () => number;
  #slowUntil = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** A write may be made in the event loop. */
  get quick(): boolean {
    const now = this.#now();
    if (now < this.#slowUntil) return false;
    for (const { at } of this.#syncs) return now - at < diskDefaults.slowSyncMs;
    return true;
  }

  /** A sync begins. @returns to be called when it is over, one way or the other. */
  syncing(): () => void {
    const one = { at: this.#now() };
    this.#syncs.add(one);
    return () => this.#syncs.delete(one);
  }

  /** Does a write in the event loop, and looks whether it waited. */
  timed(write: () => number): number {
    const from = this.#now();
    try {
      return write();
    } finally {
      const to = this.#now();
      if (to - from >= diskDefaults.slowWriteMs) this.#slowUntil = to + diskDefaults.slowForMs;
    }
  }
}
