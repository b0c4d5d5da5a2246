import { type Refusal, refusal } from './answer.ts';

/**
 * Whose turn it is. Calls come from thousands of connections and are done by one thread: what is begun holds memory, so a
 * bounded number is under way and the others wait in the order in which they came. Each lane has bounds of its own, so that
 * reading never holds up the reports that keep leases.
 */
export type Lane = 'reports' | 'calls' | 'reads';

export interface TurnLimits {
  /** Calls of a lane that are under way. */
  readonly running: number;
  /** … and that wait for their turn; further ones are refused. */
  readonly waiting: number;
  /** Reads that are under way: each builds up to a page of 8 MB. */
  readonly reading: number;
  /** Bytes of answers that their readers have not taken: above it no read is begun. */
  readonly untakenBytes: number;
}

/** A call that has its turn. */
export interface Turn {
  /** Twice is fine. */
  leave(): void;
  /** Waits without holding up others. */
  outside(wait: Promise<unknown>): Promise<void>;
  /** Lets others in during long work. */
  breathe(): Promise<void>;
}

interface Waiter {
  readonly go: () => void;
}

interface Queue {
  running: number;
  readonly waiters: Set<Waiter>;
}

export class Turns {
  readonly #limits: TurnLimits;
  readonly #queues: Readonly<Record<Lane, Queue>> = {
    reports: { running: 0, waiters: new Set() },
    calls: { running: 0, waiters: new Set() },
    reads: { running: 0, waiters: new Set() },
  };
  #untaken = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** Bytes of answers that were made and not taken by their readers. */
  get untakenBytes(): number {
    return this.#untaken;
  }

  /** Reads wait until answers are taken. */
  get pressed(): boolean {
    return this.#queues.reads.waiters.size > 0 && this.#untaken > this.#limits.untakenBytes;
  }

  /** An answer waits for its reader. @returns to be called when it has gone, one way or the other. */
  untaken(bytes: number): () => void {
    this.#untaken += bytes;
    return () => {
      this.#untaken -= bytes;
      this.#next('reads');
    };
  }

  /** @param signal aborted when the peer has gone, for calls that are of no use to anybody else: nothing is begun then. */
  enter(lane: Lane, signal?: AbortSignal): Turn | Refusal | Promise<Turn | Refusal> {
    if (signal?.aborted) return GONE;
    const queue = this.#queues[lane];
    if (this.#free(lane) && queue.waiters.size === 0) {
      queue.running++;
      return new Place(this.#left, this.#again, lane, signal);
    }
    return queue.waiters.size >= this.#limits.waiting ? FULL : this.#enterLater(lane, signal);
  }

  async #enterLater(lane: Lane, signal?: AbortSignal): Promise<Turn | Refusal> {
    await this.#wait(lane, signal);
    if (!signal?.aborted) return new Place(this.#left, this.#again, lane, signal);
    this.#left(lane);
    return GONE;
  }

  /** Resolves with a place taken; at once when the peer goes. */
  #wait(lane: Lane, signal?: AbortSignal): Promise<void> {
    const queue = this.#queues[lane];
    return new Promise((resolve) => {
      const go = () => {
        signal?.removeEventListener('abort', go);
        queue.waiters.delete(waiter);
        queue.running++;
        resolve();
      };
      const waiter = { go };
      queue.waiters.add(waiter);
      if (signal?.aborted) go();
      else signal?.addEventListener('abort', go, { once: true });
    });
  }

  #free(lane: Lane): boolean {
    const { running } = this.#queues[lane];
    if (lane !== 'reads') return running < this.#limits.running;
    return running < this.#limits.reading && this.#untaken <= this.#limits.untakenBytes;
  }

  readonly #again = async (lane: Lane, signal?: AbortSignal): Promise<void> => {
    const queue = this.#queues[lane];
    if (this.#free(lane) && queue.waiters.size === 0) queue.running++;
    else await this.#wait(lane, signal);
  };

  readonly #left = (lane: Lane): void => {
    this.#queues[lane].running--;
    if (this.#queues[lane].waiters.size === 0) return;
    // The answer to a read is handed over first, and counts when the next begins.
    if (lane === 'reads') setImmediate(() => this.#next(lane));
    else this.#next(lane);
  };

  #next(lane: Lane): void {
    for (const waiter of this.#queues[lane].waiters) {
      if (!this.#free(lane)) return;
      waiter.go();
    }
  }
}

/** A turn that is taken: one for each call, so it holds functions that are made once. */
class Place implements Turn {
  readonly #left: (lane: Lane) => void;
  readonly #again: (lane: Lane, signal?: AbortSignal) => Promise<void>;
  readonly #lane: Lane;
  readonly #signal: AbortSignal | undefined;
  #inside = true;

  constructor(
    left: (lane: Lane) => void,
    again: (lane: Lane, signal?: AbortSignal) => Promise<void>,
    lane: Lane,
    signal: AbortSignal | undefined,
  ) {
    this.#left = left;
    this.#again = again;
    this.#lane = lane;
    this.#signal = signal;
  }

  leave(): void {
    if (!this.#inside) return;
    this.#inside = false;
    this.#left(this.#lane);
  }

  async outside(wait: Promise<unknown>): Promise<void> {
    this.leave();
    await wait;
    await this.#again(this.#lane, this.#signal);
    this.#inside = true;
  }

  breathe(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }
}

/** Nobody reads it. */
export const GONE = refusal('UNAVAILABLE', 'The caller has gone.');

const FULL = refusal(
  'UNAVAILABLE',
  'The control plane has as many calls before this one as it lets wait; nothing was done.',
  undefined,
  { 'Retry-After': '1' },
);
