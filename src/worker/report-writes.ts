import type { TerminalReport } from '../contract/index.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { Timer } from '../ports/clock.ts';
import type { ReportMeta, SpooledReport } from '../spool/index.ts';
import type { WorkerContext } from './context.ts';
import type { Held } from './held.ts';

/** What became of a report's write. */
export type Wrote = SpooledReport | { readonly error: unknown };

interface Write {
  readonly held: Held;
  readonly report: TerminalReport;
}

/**
 * Reports on their way to the disk. What ends in one turn goes in one pass, with one promise for all; while short work waits
 * here for a slot more ends are a moment away and nobody waits for a single one, so they gather a little longer, and one sync
 * covers them. So do records that were answered.
 */
export class ReportWrites {
  readonly #ctx: WorkerContext;
  readonly #metaOf: (held: Held) => ReportMeta;
  readonly #moreSoon: () => boolean;
  readonly #wrote: (held: Held, report: TerminalReport, how: Wrote) => void;
  #waiting: Write[] = [];
  #timer: Timer | undefined;
  #soon = false;
  #answered: Held[] = [];

  constructor(
    ctx: WorkerContext,
    options: {
      readonly metaOf: (held: Held) => ReportMeta;
      readonly moreSoon: () => boolean;
      readonly wrote: (held: Held, report: TerminalReport, how: Wrote) => void;
    },
  ) {
    this.#ctx = ctx;
    this.#metaOf = options.metaOf;
    this.#moreSoon = options.moreSoon;
    this.#wrote = options.wrote;
  }

  write(held: Held, report: TerminalReport): void {
    this.#waiting.push({ held, report });
    if (this.#soon) return;
    const { writesAheadGatherMs, writesAtOnce } = workerDefaults;
    // A worker that was stopped is left in a moment.
    const gathers = !this.#ctx.stopped && this.#waiting.length < writesAtOnce && this.#moreSoon();
    if (gathers) {
      this.#timer ??= this.#ctx.ports.clock.timer(writesAheadGatherMs, () => this.flush());
      return;
    }
    this.#soon = true;
    queueMicrotask(() => this.flush());
  }

  /** What waits goes now. */
  flush(): void {
    this.#soon = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#waiting.length === 0 || this.#ctx.spoolGone) return;
    const all = this.#waiting;
    this.#waiting = [];
    const reports = all.map(({ held, report }) => ({ report, meta: this.#metaOf(held) }));
    this.#ctx.ports.spool.writeReports(reports).then(
      (made) => {
        for (const [i, { held, report }] of all.entries()) {
          const one = made[i] as SpooledReport | Promise<SpooledReport>;
          if (one instanceof Promise) this.#byItself(held, report, one);
          else this.#wrote(held, report, one);
        }
      },
      (error: unknown) => {
        for (const { held, report } of all) this.#wrote(held, report, { error });
      },
    );
  }

  #byItself(held: Held, report: TerminalReport, written: Promise<SpooledReport>): void {
    written.then(
      (record) => this.#wrote(held, report, record),
      (error: unknown) => this.#wrote(held, report, { error }),
    );
  }

  /** Its report was answered: the record goes. */
  answered(held: Held): void {
    this.#answered.push(held);
    if (this.#answered.length === 1) queueMicrotask(() => this.#remove());
  }

  #remove(): void {
    const all = this.#answered;
    this.#answered = [];
    if (this.#ctx.spoolGone) return;
    const records: SpooledReport[] = [];
    for (const { record } of all) if (record) records.push(record);
    this.#ctx.ports.spool.answeredLately(records);
    for (const held of all) held.removed();
  }
}
