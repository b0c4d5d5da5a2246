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
      row = new Row(ms);
      this.#rows.set(ms, row);
    }
    const one = new Deadline(this.#clock.now() + ms, fire, row);
    row.waiting.push(one);
    if (row.timer === undefined) this.#arm(row, ms);
    return one;
  }

  /** Nothing is due any more. */
  stop(): void {
    for (const row of this.#rows.values()) {
      row.timer?.cancel();
      // One that stops all may have others of its moment behind it.
      for (const one of row.waiting) one.cancel();
      row.waiting = [];
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
      for (const one of row.waiting) {
        if (one.at > now) break;
        one.due();
      }
    } finally {
      row.leaveOut();
      const [next] = row.waiting;
      if (next !== undefined) this.#arm(row, Math.max(0, next.at - this.#clock.now()));
      else if (this.#rows.get(row.ms) === row) this.#rows.delete(row.ms);
    }
  }
}

/** Those of one length. */
class Row {
  readonly ms: number;
  /** Oldest first; among them are some that are over. */
  waiting: Deadline[] = [];
  timer: Timer | undefined = undefined;
  #over = 0;

  constructor(ms: number) {
    this.ms = ms;
  }

  /** One more is over. It goes with many: looking for it each time would cost more than it holds. */
  ended(): void {
    if (++this.#over >= LEAVE_OUT_AFTER && this.#over * 2 > this.waiting.length) this.leaveOut();
  }

  /** Another list takes the place of this one, so a loop over it goes on. */
  leaveOut(): void {
    this.waiting = this.waiting.filter((one) => !one.over);
    this.#over = 0;
  }
}

class Deadline implements Timer {
  readonly at: number;
  #fire: (() => void) | undefined;
  readonly #row: Row;

  constructor(at: number, fire: () => void, row: Row) {
    this.at = at;
    this.#fire = fire;
    this.#row = row;
  }

  get over(): boolean {
    return this.#fire === undefined;
  }

  due(): void {
    const fire = this.#fire;
    this.cancel();
    fire?.();
  }

  cancel(): void {
    if (this.over) return;
    this.#fire = undefined;
    this.#row.ended();
  }
}

const LEAVE_OUT_AFTER = 64;
