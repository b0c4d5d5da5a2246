import type { TerminalReport } from '../contract/index.ts';
import type { HeldLock } from '../ports/folder-lock.ts';
import { lossInWords, spoolError } from './errors.ts';
import { Health } from './health.ts';
import { groupName, type Layout, sessionTag, setAsideName } from './layout.ts';
import { LockKeeper, type Loss } from './lock-keeper.ts';
import type { SpoolOptions } from './open.ts';
import { closedOwner, type Owner, type Predecessor } from './owner.ts';
import { forceOwner, rewriteOwner } from './owner-lock.ts';
import { recheck } from './recheck.ts';
import type { Origin, ProgressMark, ReportRecord, RunningRecord } from './records.ts';
import type { Recovered } from './recover.ts';
import { RefusalNote } from './refusal.ts';
import { ReportBook } from './report-book.ts';
import type { Reserve } from './reserve.ts';
import { ReserveWatch } from './reserve-watch.ts';
import { RunningBook } from './running-book.ts';
import type { ReportMeta, SpoolStats } from './shapes.ts';
import type { SpooledReport } from './spooled-report.ts';
import { type TakenOver, takeOver } from './take-over.ts';
import { Upkeep } from './upkeep.ts';
import { Writing } from './writing.ts';

export type { RecoveredRunning, ReportMeta, SpoolStats } from './shapes.ts';
export type { SpooledReport } from './spooled-report.ts';

/** An open spool; see `openSpool`. Reports and running records of one worker, and what the last session left. */
export class Spool {
  readonly folder: string;
  /** Sessions of this worker that were here before, newest first, at most 8: a claim names them. */
  readonly earlierSessions: readonly string[];
  /** Who had this folder before, and how it went; `undefined` if nobody had, or that is not known. */
  readonly predecessor: Predecessor | undefined;
  /** What earlier sessions left: owed reports, and attempts that were held and have no report. */
  readonly recovered: TakenOver;
  readonly refusal: RefusalNote;
  readonly #options: SpoolOptions;
  readonly #layout: Layout;
  readonly #owner: Owner;
  readonly #aside: Recovered['aside'];
  readonly #reports: ReportBook;
  readonly #running: RunningBook;
  readonly #health: Health;
  readonly #writing: Writing;
  readonly #upkeep: Upkeep;
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
    predecessor: Predecessor | undefined,
    reserve: Reserve,
  ) {
    this.predecessor = predecessor;
    this.#options = options;
    this.folder = layout.folder;
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
    this.#running = new RunningBook(options, layout.running, nextName);
    this.#reports = new ReportBook(options, layout.reports, nextName, this.#running);
    this.#health = new Health(
      options.clock,
      () => recheck(options, layout, owner, reserve),
      (why) => this.#told(why),
    );
    this.#writing = new Writing(layout, reserve, this.#health);
    this.refusal = new RefusalNote(options, layout.refusal, () => !this.#health.lost);
    this.earlierSessions = owner.earlierSessions;
    this.recovered = takeOver(found, this.#reports, this.#running);
    this.#counted();
    const waiting = () => {
      const { pending: records, oldestMs } = this.stats();
      return { records, oldestMs };
    };
    const watch = new ReserveWatch(options, layout, reserve, this.#health);
    this.#upkeep = new Upkeep(options, Object.values(this.#aside), waiting, watch);
    this.#upkeep.start();
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
    // New work is not what the reserve is for.
    const record = () => this.#running.record(attempts, this.#origin());
    await this.#writing.run('What a claim brought', record, 'free');
  }

  /**
   * The handler is about to get the input. Survives this process, not a power cut: then `lost` says that it was not begun, and
   * the control plane's own record of the gate decides all the same. Unknown attempts are fine.
   */
  async markBegun(attemptId: string, host?: string): Promise<void> {
    this.#mustBeOpen();
    await this.#writing.run(`That ${attemptId} has begun`, () =>
      this.#running.markBegun(attemptId, host),
    );
  }

  /** How far the handler says it is: evidence for whoever finds the record without a report. Survives this process. */
  async markProgress(attemptId: string, progress: ProgressMark): Promise<void> {
    this.#mustBeOpen();
    await this.#writing.run(`The progress of ${attemptId}`, () =>
      this.#running.markProgress(attemptId, progress),
    );
  }

  /** A short handler has begun: a file for its report is made beside it where none is open. Nobody waits, and nothing is told. */
  expectReport(): void {
    if (!this.#closed && !this.#health.lost) this.#reports.expect();
  }

  /**
   * Makes a terminal report durable; the caller sends it after that. It takes the place of an earlier report and of the
   * running record of its attempt. Rejects with `SPOOL_WRITE_FAILED` (`details.reason`: ENOSPC …): call again later.
   */
  async writeReport(report: TerminalReport, meta: ReportMeta): Promise<SpooledReport> {
    this.#mustBeOpen();
    const record = this.#record(report, meta, this.#wall());
    const what = `The report of ${report.attemptId}`;
    const spooled = await this.#writing.run(what, () => this.#reports.write(record));
    this.#counted();
    return spooled;
  }

  /**
   * `writeReport` of many, of an attempt each, in one pass. In the same order: the record where it is durable, and a promise
   * of its own, as `writeReport` gives it, for one that holds up no other: it is large, waits for another report of its
   * attempt, cannot be encoded, or the disk has refused it. Rejects where the spool takes nothing any more.
   */
  async writeReports(
    reports: readonly { readonly report: TerminalReport; readonly meta: ReportMeta }[],
  ): Promise<(SpooledReport | Promise<SpooledReport>)[]> {
    this.#mustBeOpen();
    const at = this.#wall();
    const records = reports.map(({ report, meta }) => this.#record(report, meta, at));
    // The first that is refused gives it up for all.
    const there = this.#writing.reserveThere;
    const made = await this.#reports.writeEach(records);
    if (made.some((one) => !(one instanceof Promise))) this.#health.worked();
    const all = made.map((one, i) =>
      one instanceof Promise ? this.#byItself(one, records[i] as ReportRecord, there) : one,
    );
    this.#counted();
    return all;
  }

  /** What the disk refuses is tried once more with the reserve, and told, by the way of a single one. */
  #byItself(begun: Promise<SpooledReport>, record: ReportRecord, there: boolean) {
    const again = () => this.#reports.write(record);
    const written = this.#writing
      .after(begun, `The report of ${record.body.attemptId}`, again, there)
      .finally(() => this.#counted());
    // Whoever asked for it hears of it a moment later.
    written.catch(() => {});
    return written;
  }

  #record(report: TerminalReport, meta: ReportMeta, spooledAt: string): ReportRecord {
    return {
      kind: 'report',
      ...this.#origin(meta.project),
      type: meta.type,
      schemaVersion: meta.schemaVersion,
      workedAt: meta.workedAt ?? {},
      spooledAt,
      followUp: meta.followUp ?? false,
      body: report,
    };
  }

  /**
   * The report as it is to be sent, read from the disk. Rejects with the disk's error, or `SPOOL_READ_FAILED`: it stays
   * where it is, try again later.
   */
  async body(spooled: SpooledReport): Promise<TerminalReport> {
    return (await this.#reports.read(spooled)).body;
  }

  /** The reports were answered: their records go. Wait for it or not: a crash before merely sends them again. */
  async answered(...spooled: readonly SpooledReport[]): Promise<void> {
    await this.#done(spooled, true);
  }

  /** `answered` without a write of its own: told to the disk with what is written next, or after 0.2 s without a write. */
  answeredLately(spooled: readonly SpooledReport[]): void {
    void this.#done(spooled, false);
  }

  #done(spooled: readonly SpooledReport[], haste: boolean): Promise<unknown> {
    // Its heir does that.
    if (this.#health.lost) return Promise.resolve();
    const done = this.#reports.done(spooled, haste);
    this.#counted();
    return done;
  }

  /**
   * Sets a report aside with the answer it got, durable when it resolves. `stale`: it is done with. `refused`: its
   * record stays until a report that stands in for it is durable, or `forget` says that none follows; it is not
   * counted as pending meanwhile. Rejects with `SPOOL_WRITE_FAILED`, or with `SPOOL_READ_FAILED` where the disk does not
   * give it now: do not send the report, call again later.
   */
  async setAside(
    spooled: SpooledReport,
    kind: 'stale' | 'refused',
    answer: unknown,
  ): Promise<void> {
    this.#mustBeOpen();
    const { attemptId, op } = spooled.head;
    const name = setAsideName(attemptId, op, spooled.sum);
    // One that the disk does not give is no reason to claim nothing.
    const record = await this.#reports.readOrHead(spooled, this.#options.log);
    const aside = { kind, setAsideAt: this.#wall(), answer, record } as { kind: string };
    await this.#writing.run(`The ${kind} report of ${attemptId}`, () =>
      this.#aside[kind].put(name, aside),
    );
    this.#upkeep.setAside();
    if (kind === 'refused') this.#reports.holdBack(spooled);
    else await this.#reports.done([spooled], true);
    this.#counted();
  }

  /** Nothing is owed for the attempt, and no report of it is on disk or to come: its running record goes. */
  async forget(attemptId: string): Promise<void> {
    if (this.#health.lost) return;
    const gone = [this.#running.end([attemptId]), this.#reports.letGo(attemptId)];
    this.#running.hurry();
    this.#counted();
    await Promise.all(gone);
  }

  stats(): SpoolStats {
    const { size, oldestAt } = this.#reports;
    const { why } = this.#health;
    const { clock } = this.#options;
    const { stale, refused, corrupt } = this.#aside;
    return {
      pending: size.records,
      bytes: size.bytes,
      oldestMs:
        oldestAt === undefined ? null : Math.max(0, clock.wall() - Date.parse(oldestAt)) || 0,
      ok: why === undefined,
      why,
      setAside: { stale: stale.count, refused: refused.count, corrupt: corrupt.count },
    };
  }

  /** Resolves when everything under way on the disk is done (removals and marks too). */
  async idle(): Promise<void> {
    for (const part of [this.#reports, this.#running, this.#upkeep, this.refusal])
      await part.idle();
  }

  /** Waits for what is under way and gives the spool back. Twice is fine; never rejects. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#upkeep.stop();
    this.refusal.stop();
    await this.idle();
    for (const book of [this.#reports, this.#running]) await book.closeFiles();
    this.#health.stop();
    if (this.#health.lost) return;
    // Without it (a full disk) the next owner finds out that this process is gone.
    const owner = closedOwner(this.#owner, this.#options.clock.wall());
    await rewriteOwner(this.#options, this.#layout, owner, forceOwner).catch(() => {});
    await this.#lock.release();
  }

  /** Called by `openSpool` only. */
  reserveMissing(why: string): void {
    this.#health.short(why);
  }

  #told(why: string | undefined): void {
    // What was answered meanwhile and could not be removed.
    if (why === undefined) for (const book of [this.#reports, this.#running]) book.removeRefused();
    this.#options.onTrouble?.(why);
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
    this.#upkeep.stop();
    onLost?.(text);
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
}
