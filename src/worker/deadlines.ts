import { PassingMap } from '../core/passing-map.ts';
import type { Clock, Timer } from '../ports/clock.ts';

/**
 * Times by which something is to be done unless it is cancelled, as it mostly is: one timer of the clock for all of the
 * same length, not one for each.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #rows = new Map<number, Row>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `fire` once after `ms`. */
  after(ms: number, fire: () => void): Timer {
    let row = this.#rows.get(ms);
    if (row === undefined) {
      row = { ms, waiting: new PassingMap(), timer: undefined };
      this.#rows.set(ms, row);
    }
    const { waiting } = row;
    const one: Deadline = { at: this.#clock.now() + ms, fire };
    waiting.set(one, true);
    if (row.timer === undefined) this.#arm(row, ms);
    return {
      cancel: () => {
        waiting.delete(one);
        one.fire = nothing;
      },
    };
  }

  /** Nothing is due any more. */
  stop(): void {
    for (const { timer, waiting } of this.#rows.values()) {
      timer?.cancel();
      waiting.clear();
    }
    this.#rows.clear();
  }

  #arm(row: Row, ms: number): void {
    row.timer = this.#clock.timer(ms, () => this.#due(row));
  }

  #due(row: Row): void {
    const now = this.#clock.now();
    try {
      // In the order of their times: all are of one length. The spent timer stays meanwhile: what `fire` asks for arms none.
      for (const one of row.waiting.keys()) {
        if (one.at > now) break;
        row.waiting.delete(one);
        one.fire();
      }
    } finally {
      const [next] = row.waiting.keys();
      if (next !== undefined) this.#arm(row, Math.max(0, next.at - this.#clock.now()));
      else if (this.#rows.get(row.ms) === row) this.#rows.delete(row.ms);
    }
  }
}

/** What is over holds nothing: old tables of the set keep it for a while. */
const nothing = () => {};

interface Deadline {
  readonly at: number;
  fire: () => void;
}

interface Row {
  readonly ms: number;
  /** Oldest first. */
  readonly waiting: PassingMap<Deadline, true>;
  timer: Timer | undefined;
}
