/**
 * What crosses between the thread of the agent and the thread of the handlers: lists of plain objects, what is said in one
 * turn together. Per job and in this order: `run`, then `begun`, whatever the handler says, `end`; nothing after it.
 *
 * A `begun` alone is in no hurry, since mostly the `end` comes in the same turn. That a handler has begun which holds its thread
 * is seen in the memory that both threads share (`BegunCount`).
 *
 * The queues are bounded by what is sent: at most a `run`, a `stop` and a `gate` for each slot one way; the other way
 * progress a few times a second (`ProgressValve`) and the log of a job up to its bound (`JobLog`).
 */
import type { Job, JobEnd, LogLine, ProgressUpdate, StopReason } from '../ports/carrier.ts';

/** Agent → handlers. `n` counts the jobs of a channel. */
export type ToHandlers =
  | { readonly t: 'run'; readonly n: number; readonly job: Job }
  | { readonly t: 'stop'; readonly n: number; readonly reason: StopReason }
  | { readonly t: 'gate'; readonly n: number; readonly refused?: string };

/** Handlers → agent. */
export type FromHandlers =
  | { readonly t: 'begun'; readonly n: number }
  | { readonly t: 'progress'; readonly n: number; readonly update: ProgressUpdate }
  | { readonly t: 'log'; readonly n: number; readonly lines: readonly LogLine[] }
  | { readonly t: 'effect'; readonly n: number }
  /** `tookMs` from its begin; absent: it has not begun. */
  | {
      readonly t: 'end';
      readonly n: number;
      readonly end: JobEnd;
      readonly tookMs?: number;
    };

/** The `n` of the job that has begun last. Jobs begin in the order of their numbers; one that was stopped before does not. */
export class BegunCount {
  readonly memory: SharedArrayBuffer;
  readonly #count: Int32Array;

  constructor(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#count = new Int32Array(memory);
  }

  tell(n: number): void {
    Atomics.store(this.#count, 0, n);
  }

  get last(): number {
    return Atomics.load(this.#count, 0);
  }
}
