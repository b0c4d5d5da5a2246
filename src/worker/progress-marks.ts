import { cutText } from '../contract/errors.ts';
import { workerDefaults } from '../core/defaults.ts';
import { PROGRESS_CHARS } from '../core/lost-evidence.ts';
import type { ProgressUpdate } from '../ports/carrier.ts';
import type { Timer } from '../ports/clock.ts';
import type { WorkerContext } from './context.ts';

/**
 * Keeps on disk what a handler said last, so that whoever finds its record after this process can tell how far it was. The
 * longer the handler runs, the more seldom: what is known is late by a small share of its time, and the file stays small.
 */
export class ProgressMarks {
  readonly #ctx: WorkerContext;
  readonly #attemptId: string;
  readonly #since: number;
  /** Said and not written yet. */
  #latest: ProgressUpdate = {};
  #waiting = false;
  #notBefore = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  /** @param since when the handler began, by the clock */
  constructor(ctx: WorkerContext, attemptId: string, since: number) {
    this.#ctx = ctx;
    this.#attemptId = attemptId;
    this.#since = since;
  }

  said({ percent, message }: ProgressUpdate): void {
    if (percent === undefined && message === undefined) return;
    // As on the wire: what is not said anew is as it was.
    this.#latest = {
      ...this.#latest,
      ...(percent === undefined ? {} : { percent }),
      ...(message === undefined ? {} : { message: cutText(message, PROGRESS_CHARS) }),
    };
    if (this.#waiting) return;
    this.#waiting = true;
    const { clock } = this.#ctx.ports;
    const wait = this.#notBefore - clock.now();
    if (wait <= 0) this.#write();
    else this.#timer = clock.timer(wait, () => this.#write());
  }

  /** The handler has gone: its report says the rest. */
  end(): void {
    this.#waiting = true;
    this.#timer?.cancel();
  }

  #write(): void {
    const { clock, spool } = this.#ctx.ports;
    const { progressMarkMs, progressMarkShare } = workerDefaults;
    const now = clock.now();
    this.#notBefore = now + Math.max(progressMarkMs, (now - this.#since) * progressMarkShare);
    this.#waiting = false;
    if (this.#ctx.spoolGone) return;
    // Evidence only; the spool tells of its trouble itself.
    spool.markProgress(this.#attemptId, this.#latest).catch(() => {});
  }
}
