import type { TerminalReport } from '../../contract/index.ts';
import type { HeldLock } from '../../ports/folder-lock.ts';
import { causeCode, lossInWords, spoolError } from './errors.ts';
import { Health } from './health.ts';
import { groupName, type Layout, sessionTag, setAsideName } from './layout.ts';
import { LockKeeper, type Loss } from './lock-keeper.ts';
import type { SpoolOptions } from './open.ts';
import { closedOwner, type Owner } from './owner.ts';
import { rewriteOwner } from './owner-lock.ts';
import type { Origin, ReportRecord, RunningLine, RunningRecord, WorkedAt } from './records.ts';
import type { Recovered } from './recover.ts';
import { ReportBook, type SpooledReport } from './report-book.ts';
import { RunningBook } from './running-book.ts';

export type { SpooledReport } from './report-book.ts';

/** What is told beside a report: of its task, and for people. */
export interface ReportMeta {
  readonly type: string;
  readonly schemaVersion: number;
  /** Default: the project last told by `useProject` or the options. */
  readonly project?: string;
  /** It stands in for a report that was refused. */
  readonly followUp?: boolean;
  readonly workedAt?: WorkedAt;
}

export interface RecoveredRunning extends RunningLine {
  /** Whether its handler got the input, as far as was recorded. */
  readonly begun: boolean;
}

export interface SpoolStats {
  /** Reports not yet answered, and the bytes of their records. */
  readonly pending: number;
  readonly bytes: number;
  /** Age of the oldest, by the wall clock. */
  readonly oldestMs: number | null;
  /** `false`: claim nothing new. */
  readonly ok: boolean;
  /** In words, if not ok. */
  readonly why: string | undefined;
  readonly setAside: { readonly stale: number; readonly refused: number; readonly corrupt: number };
}

/** An open spool; see `openSpool`. Reports and running records of one worker, and what the last session left. */
export class Spool {
  /** Sessions of this worker that were here before, newest first, at most 8: a claim names them. */
  readonly earlierSessions: readonly string[];
  /** What earlier sessions left: owed reports, and attempts that were held and have no report. */
  readonly recovered: {
    readonly reports: readonly SpooledReport[];
    readonly running: readonly RecoveredRunning[];
    /** Bad lines found at this start and set aside. */
    readonly corrupt: number;
  };
  readonly #options: SpoolOptions;
  readonly #layout: Layout;
  readonly #owner: Owner;
  readonly #aside: Recovered['aside'];
  readonly #reports: ReportBook;
  readonly #running: RunningBook;
  readonly #health: Health;
  readonly #tidied: Promise<unknown>;
  readonly #lock: LockKeeper;
  #project: string | undefined;
  #seq: number;
  #closed: Promise<void> | undefined;

  /** Called by `openSpool` only. */
  constructor(
    options: SpoolOptions,
    layout: Layout,
    owner: Owner,
    held: HeldLock,
    found: Recovered,
  ) {
    this.#options = options;
    this.#layout = layout;
    this.#owner = owner;
    this.#lock = new LockKeeper(options, layout, options.sessionId, held, (loss, why) =>
      this.#lost(loss, why),
    );
    this.#project = options.project;
    this.#seq = found.lastSeq;
    this.#aside = found.aside;
    const tag = sessionTag(options.sessionId);
    const nextName = () => groupName(++this.#seq, tag);
    this.#reports = new ReportBook(options, layout.reports, nextName);
    this.#running = new RunningBook(options, layout.running, nextName);
    this.#health = new Health(
      options.clock,
      () => rewriteOwner(options, layout, owner),
      (why) => options.onTrouble?.(why),
    );
    this.earlierSessions = owner.earlierSessions;
    this.recovered = this.#takeOver(found);
    this.#tidied = Promise.all(
      Object.values(this.#aside).map((folder) => folder.tidy(options.clock, options.log)),
    );
  }

  /** Whether a record of this attempt is open here. */
  has(attemptId: string): boolean {
    return this.#running.has(attemptId) || this.#reports.has(attemptId);
  }

  /** Of the records that are written now. */
  get serviceUrl(): string {
    return this.#options.serviceUrl;
  }

  /** Learnt from the control plane: written into the records from now on. */
  useProject(project: string): void {
    this.#project = project;
  }

  /**
   * Records what a claim brought. Durable when it resolves if one of them is non-idempotent; else it survives
   * this process only. Rejects with `SPOOL_WRITE_FAILED`, and then none is recorded.
   */
  async recordClaim(attempts: readonly RunningRecord[]): Promise<void> {
    this.#mustBeOpen();
    await this.#attempt('What a claim brought', () =>
      this.#running.record(attempts, this.#origin()),
    );
  }

  /**
   * The handler got the input. Survives this process, not a power cut: then `lost` says that it was not begun, and
   * the control plane's own record of the gate decides all the same. Unknown attempts are fine.
   */
  async markBegun(attemptId: string): Promise<void> {
    this.#mustBeOpen();
    await this.#attempt(`That ${attemptId} has begun`, () => this.#running.markBegun(attemptId));
  }

  /**
   * Makes a terminal report durable; the caller sends it after that. It takes the place of an earlier report and of the
   * running record of its attempt. Rejects with `SPOOL_WRITE_FAILED` (`details.reason`: ENOSPC …): call again later.
   */
  async writeReport(report: TerminalReport, meta: ReportMeta): Promise<SpooledReport> {
    this.#mustBeOpen();
    const record: ReportRecord = {
      kind: 'report',
      ...this.#origin(meta.project),
      type: meta.type,
      schemaVersion: meta.schemaVersion,
      workedAt: meta.workedAt ?? {},
      spooledAt: this.#wall(),
      followUp: meta.followUp ?? false,
      body: report,
    };
    const spooled = await this.#attempt(`The report of ${report.attemptId}`, () =>
      this.#reports.write(record, () => this.#running.end(report.attemptId)),
    );
    this.#counted();
    return spooled;
  }

  /** The report was answered: its record goes. Wait for it or not: a crash before merely sends the report again. */
  async answered(spooled: SpooledReport): Promise<void> {
    const done = this.#reports.done(spooled);
    this.#counted();
    await done;
  }

  /**
   * Sets a report aside with the answer it got, durable when it resolves. `stale`: it is done with. `refused`: its
   * record stays until a report that stands in for it is durable, or `forget` says that none follows; it is not
   * counted as pending meanwhile. Rejects with `SPOOL_WRITE_FAILED`: do not send the report, call again later.
   */
  async setAside(
    spooled: SpooledReport,
    kind: 'stale' | 'refused',
    answer: unknown,
  ): Promise<void> {
    this.#mustBeOpen();
    const { report, bytes: _, sum, ...rest } = spooled;
    const name = setAsideName(report.attemptId, report.op, sum);
    const record = { kind: 'report', ...rest, body: report };
    await this.#attempt(`The ${kind} report of ${report.attemptId}`, () =>
      this.#aside[kind].put(name, { kind, setAsideAt: this.#wall(), answer, record } as {
        kind: string;
      }),
    );
    if (kind === 'refused') this.#reports.holdBack(spooled);
    else await this.#reports.done(spooled);
    this.#counted();
  }

  /** Nothing is owed for the attempt, and no report of it is on disk or to come: its running record goes. */
  async forget(attemptId: string): Promise<void> {
    const gone = [this.#running.end(attemptId), this.#reports.letGo(attemptId)];
    this.#counted();
    await Promise.all(gone);
  }

  stats(): SpoolStats {
    const { records, bytes } = this.#reports.size;
    const { oldestAt } = this.#reports;
    const { why } = this.#health;
    const { stale, refused, corrupt } = this.#aside;
    return {
      pending: records,
      bytes,
      oldestMs: oldestAt === undefined ? null : this.#age(oldestAt),
      ok: why === undefined,
      why,
      setAside: { stale: stale.count, refused: refused.count, corrupt: corrupt.count },
    };
  }

  /** Resolves when everything under way on the disk is done (removals and marks too). */
  async idle(): Promise<void> {
    await this.#reports.idle();
    await this.#running.idle();
    await this.#tidied;
  }

  /** Waits for what is under way and gives the spool back. Twice is fine; never rejects. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.idle();
    this.#health.stop();
    if (this.#health.lost) return;
    // Without it (a full disk) the next owner finds out that this process is gone.
    const owner = closedOwner(this.#owner, this.#options.clock.wall());
    await rewriteOwner(this.#options, this.#layout, owner).catch(() => {});
    await this.#lock.release();
  }

  /** Called by `openSpool` only: the lock was altered or taken away. */
  lockAltered(why: string): void {
    void this.#lock.altered(why);
  }

  #lost(loss: Loss, why: string): void {
    const { log, workerId, onLost } = this.#options;
    const text = `${lossInWords(loss, this.#layout.folder, why)} Worker "${workerId}" must not go on with it.`;
    log.error('spool.lost', text, { workerId });
    this.#health.lose(text);
    onLost?.(text);
  }

  #takeOver(found: Recovered): Spool['recovered'] {
    for (const file of found.empty.reports) this.#reports.drop(file);
    for (const file of found.empty.running) this.#running.drop(file);
    const reports = found.reports.map((one) =>
      this.#reports.found(one, found.kept.has(`reports/${one.file}`)),
    );
    const running = found.running.map(({ file, record, begun }) => {
      this.#running.found(file, record.attemptId, found.kept.has(`running/${file}`));
      return { ...record, begun };
    });
    this.#counted();
    return { reports, running, corrupt: found.corrupt };
  }

  async #attempt<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      const made = await work();
      this.#health.worked();
      return made;
    } catch (cause) {
      const reason = causeCode(cause) ?? (cause as Error).message;
      const { folder } = this.#layout;
      // A mistake of ours (a value that is no JSON) is no trouble of the disk.
      if (causeCode(cause) === undefined) throw cause;
      const error = spoolError(
        'SPOOL_WRITE_FAILED',
        `${what} could not be written to the spool ${folder} (${reason}).`,
        { cause },
      );
      this.#health.failed(`the spool ${folder} cannot be written (${reason})`);
      throw error;
    }
  }

  #mustBeOpen(): void {
    if (this.#health.lost) throw spoolError('SPOOL_LOST', this.#health.lost);
    if (this.#closed)
      throw spoolError('SPOOL_CLOSED', `The spool ${this.#layout.folder} was closed.`);
  }

  #counted(): void {
    const { records, bytes } = this.#reports.size;
    this.#health.holds(records, bytes);
  }

  #origin(project = this.#project): Origin {
    const { serviceUrl, workerId, sessionId } = this.#options;
    return { serviceUrl, ...(project !== undefined && { project }), workerId, sessionId };
  }

  #wall(): string {
    return new Date(this.#options.clock.wall()).toISOString();
  }

  #age(at: string): number {
    return Math.max(0, this.#options.clock.wall() - Date.parse(at)) || 0;
  }
}
