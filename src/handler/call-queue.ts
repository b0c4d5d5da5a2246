import { aheadInHostDefaults } from '../core/defaults.ts';

/** As it is at load: a handler may put another in its place. */
const soon = queueMicrotask;

/** What the queue moves. */
export interface QueueDoor<Job> {
  /** Calls the handler. @param over called once; whether the next one may begin without a word of the agent. */
  begin(n: number, job: Job, over: (goesOn: boolean) => void): void;
  /** These are the agent's again. */
  back(ns: readonly number[]): void;
  /** Sends what was said; `out` when it is on the channel. */
  flush(out: () => void): void;
  /** So much is not sent yet that it is sent first. */
  readonly full: boolean;
  /** Lets the loop look at the channel once, and goes on. */
  turn(then: () => void): void;
  monotonicMs(): number;
}

/**
 * Short jobs of a host, strictly one after the other. A job begins only where the channel was looked at a moment ago, so
 * that one which was asked back is mostly given back (that it does not begin is up to `Forbidden`); and after a plain end only, for the agent may want another host after any other.
 */
export class CallQueue<Job> {
  readonly #door: QueueDoor<Job>;
  #waiting: { readonly n: number; readonly job: Job }[] = [];
  #state: 'idle' | 'soon' | 'busy' = 'idle';
  #lookedAt = 0;

  constructor(door: QueueDoor<Job>) {
    this.#door = door;
  }

  /** From the channel, which was looked at just now. */
  add(n: number, job: Job): void {
    this.#lookedAt = this.#door.monotonicMs();
    this.#waiting.push({ n, job });
    if (this.#state !== 'idle') return;
    this.#state = 'soon';
    // When all that came with it is read: it may be asked back there.
    soon(() => this.#next());
  }

  /** All that has not begun goes back. */
  recall(): void {
    const ns = this.#waiting.map(({ n }) => n);
    this.#waiting = [];
    this.#door.back(ns);
  }

  /** It is to stop. `false`: it does not wait here. */
  drop(n: number): boolean {
    const left = this.#waiting.filter((one) => one.n !== n);
    if (left.length === this.#waiting.length) return false;
    this.#waiting = left;
    this.#door.back([n]);
    return true;
  }

  readonly #over = (goesOn: boolean): void => {
    if (!goesOn && this.#waiting.length > 0) this.recall();
    this.#next();
  };

  #next(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#state = 'idle';
      this.#door.flush(() => {});
      return;
    }
    this.#state = 'busy';
    const stale = this.#door.monotonicMs() - this.#lookedAt > aheadInHostDefaults.lookMs;
    if (stale || this.#door.full) {
      this.#door.flush(() =>
        this.#door.turn(() => {
          this.#lookedAt = this.#door.monotonicMs();
          this.#next();
        }),
      );
      return;
    }
    this.#waiting.shift();
    this.#door.begin(next.n, next.job, this.#over);
  }
}
