import { cutText } from '../contract/errors.ts';
import type { Report, ReportOf } from '../contract/index.ts';
import { bounds, limits } from '../contract/limits.ts';
import { isOver } from '../core/attempt.ts';
import { four } from '../core/attempt-report.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { LogLine, ProgressUpdate } from '../ports/carrier.ts';
import type { Timer } from '../ports/clock.ts';
import type { Attempts } from './attempts.ts';
import type { WorkerContext } from './context.ts';
import { codeOf, type Held } from './held.ts';
import { ProgressMarks } from './progress-marks.ts';
import type { QuickReports } from './quick-reports.ts';
import { isBusy, pauseMs, refusesKey } from './refusals.ts';
import type { ReportResult } from './send-reports.ts';

/**
 * What a running handler says on the way: the lazy `start`, progress, log lines. At most one of each is on its way; the
 * latest progress wins, log lines are bounded and keep their order. What was not answered when the handler ends goes out
 * before its report, in the same call, with the same `n`, so nothing is counted twice.
 */
export class JobWords {
  readonly #ctx: WorkerContext;
  readonly #attempts: Attempts;
  readonly #quick: QuickReports;
  readonly #held: Held;
  readonly #start = new Lane<'start'>();
  readonly #progress = new Lane<'progress'>();
  readonly #log = new Lane<'log'>();
  #update: ProgressUpdate | undefined;
  #lines: LogLine[] = [];
  #dropped = 0;
  /** One for the start, as a rule. */
  #timers: Timer[] | undefined;
  /** Most handlers tell no progress. */
  #marks: ProgressMarks | undefined;
  #over = false;
  #quiet: (() => void) | undefined;

  constructor(ctx: WorkerContext, attempts: Attempts, quick: QuickReports, held: Held) {
    this.#ctx = ctx;
    this.#attempts = attempts;
    this.#quick = quick;
    this.#held = held;
  }

  /** Where `start` is no gate: within a second of the beginning, or with the next report. */
  startSoon(): void {
    const { sessionId } = this.#ctx.settings;
    this.#start.owed.push({
      op: 'start',
      ...four(this.#held.attempt),
      sessionId,
      ...codeOf(this.#held),
    });
    this.#later(workerDefaults.lazyStartMs, () => this.#drive(this.#start));
  }

  progress(update: ProgressUpdate): void {
    this.#update = { ...this.#update, ...update };
    if (!this.#over) this.#mark(update);
    this.#pump();
  }

  #mark(update: ProgressUpdate): void {
    const { attempt, begunAt } = this.#held;
    const since = begunAt ?? this.#ctx.ports.clock.now();
    this.#marks ??= new ProgressMarks(this.#ctx, attempt.attemptId, since);
    this.#marks.said(update);
  }

  log(lines: readonly LogLine[]): void {
    this.#lines.push(...lines);
    const excess = this.#lines.length - workerDefaults.logLinesWaiting;
    if (excess > 0) {
      this.#lines.splice(0, excess);
      this.#dropped += excess;
    }
    this.#pump();
  }

  /**
   * The handler has gone: nothing new is sent from here any more. What is on its way is waited for, since it must not be
   * sent twice at once; `undefined` if nothing is. Resolves at the latest after a bound.
   */
  end(): Promise<void> | undefined {
    this.#over = true;
    this.#marks?.end();
    for (const timer of this.#timers ?? []) timer.cancel();
    this.#timers = undefined;
    if (!this.#busy || this.#ctx.stopped) return undefined;
    return new Promise((resolve) => {
      const timer = this.#ctx.ports.clock.timer(workerDefaults.wordsWaitMs, resolve);
      this.#quiet = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  /** What goes before the report of the attempt, in order; without what is still on its way. */
  owed(): Report[] {
    this.#fill();
    const owed: Report[] = [];
    this.#start.addOwed(owed);
    this.#progress.addOwed(owed);
    this.#log.addOwed(owed);
    return owed;
  }

  /** The answer to one of those. */
  told(report: Report, result: ReportResult | undefined): void {
    if (result === undefined || !settled(result, this.#ctx.project)) return;
    this.#start.forget(report);
    this.#progress.forget(report);
    this.#log.forget(report);
  }

  get #busy(): boolean {
    return this.#start.busy || this.#progress.busy || this.#log.busy;
  }

  #pump(): void {
    if (this.#over) return;
    if (this.#progress.ready(this.#update !== undefined) || this.#log.ready(this.#lines.length > 0))
      this.#drive(this.#start);
    this.#drive(this.#progress);
    this.#drive(this.#log);
  }

  /** Sends what a lane owes, if it may. Comes back by itself until nothing is owed. */
  #drive(lane: AnyLane): void {
    if (this.#over || lane.busy || lane.waiting || this.#ctx.stopped) return;
    // It belongs to somebody else: its handler may go on talking for a while.
    if (this.#held.state.staleSeen || isOver(this.#held.state)) return;
    const { clock } = this.#ctx.ports;
    if (lane.owed.length === 0) this.#fillLane(lane);
    const [report] = lane.owed;
    if (!report) return;
    const wait = lane.notBefore - clock.now();
    if (wait > 0) {
      lane.waiting = true;
      this.#later(wait, () => {
        lane.waiting = false;
        this.#pump();
        this.#drive(lane);
      });
      return;
    }
    lane.busy = true;
    lane.notBefore = clock.now() + workerDefaults.progressEveryMs;
    void this.#quick.send(report).then((result) => {
      lane.busy = false;
      this.#answered(lane, report, result);
      if (!this.#busy) this.#quiet?.();
      this.#drive(lane);
    });
  }

  #answered(lane: AnyLane, report: Report, result: ReportResult): void {
    this.#heard(report, result);
    if (settled(result, this.#ctx.project)) {
      lane.owed.shift();
      lane.failures = 0;
      return;
    }
    const { clock, random } = this.#ctx.ports;
    const asked = result.kind === 'ok' ? undefined : result.retryAfterMs;
    lane.notBefore =
      clock.now() + pauseMs(workerDefaults.retry, ++lane.failures, random.fraction(), asked);
  }

  #heard(report: Report, result: ReportResult): void {
    if (result.kind === 'no-answer') return;
    if (result.kind === 'ok') {
      this.#attempts.accepted(this.#held, result);
      return;
    }
    const { problem, status } = result;
    if (problem.code === 'STALE_ATTEMPT') this.#attempts.feed(this.#held, { kind: 'stale' });
    else if (problem.code === 'LEASE_EXPIRED')
      this.#attempts.feed(this.#held, { kind: 'lease-ran-out' });
    else if (problem.code === 'SESSION_SUPERSEDED') this.#ctx.onSuperseded(problem.detail ?? '');
    else if (refusesKey(result, this.#ctx.project))
      void this.#ctx.keyRefused(status, problem, result.sentAt);
    else if (!isBusy(status))
      this.#ctx.ports.log.warn(
        'report.dropped',
        `A ${report.op} report of ${this.#held.attempt.attemptId} was refused (${status} ${problem.code}) and is dropped: ${problem.detail ?? ''}`,
        { attemptId: this.#held.attempt.attemptId, op: report.op, code: problem.code },
      );
  }

  /** Everything that waits becomes reports. */
  #fill(): void {
    this.#fillLane(this.#progress);
    while (this.#lines.length > 0) this.#fillLane(this.#log);
  }

  #fillLane(lane: AnyLane): void {
    if (lane === this.#log) this.#log.owed.push(...this.#nextLog());
    if (lane !== this.#progress || this.#update === undefined) return;
    const update = this.#update;
    this.#update = undefined;
    this.#progress.owed.push({
      op: 'progress',
      ...four(this.#held.attempt),
      n: ++this.#progress.n,
      ...update,
    });
  }

  #nextLog(): ReportOf<'log'>[] {
    if (this.#lines.length === 0) return [];
    const lines: LogLine[] = [];
    let chars = 0;
    if (this.#dropped > 0) {
      lines.push({
        at: new Date(this.#ctx.ports.clock.wall()).toISOString(),
        level: 'warn',
        text: `… ${this.#dropped} lines were left out here: they came faster than they could be sent`,
      });
      this.#dropped = 0;
    }
    while (
      this.#lines[0] !== undefined &&
      lines.length < bounds.logLines &&
      chars < LOG_REPORT_CHARS
    ) {
      const line = this.#lines.shift() as LogLine;
      // One line too long would have the whole report refused.
      lines.push({ ...line, text: cutText(line.text, limits.logLineBytes) });
      chars += line.text.length;
    }
    return [{ op: 'log', ...four(this.#held.attempt), n: ++this.#log.n, lines }];
  }

  #later(ms: number, work: () => void): void {
    const timer = this.#ctx.deadlines.after(ms, () => {
      if (this.#over) return;
      this.#timers?.splice(this.#timers.indexOf(timer), 1);
      work();
    });
    this.#timers ??= [];
    this.#timers.push(timer);
  }
}

/** Reports of one op: one on its way at most, sent again until it is answered. */
class Lane<O extends 'start' | 'progress' | 'log'> {
  n = 0;
  /** Made and not answered, in order. The first may be on its way. */
  owed: ReportOf<O>[] = [];
  busy = false;
  /** A timer will come back for it. */
  waiting = false;
  notBefore = 0;
  failures = 0;

  addOwed(reports: Report[]): void {
    if (!this.busy) for (const report of this.owed) reports.push(report);
  }

  forget(report: Report): void {
    const at = (this.owed as Report[]).indexOf(report);
    if (at >= 0) this.owed.splice(at, 1);
  }

  ready(more: boolean): boolean {
    return !this.busy && !this.waiting && (more || this.owed.length > 0);
  }
}

type AnyLane = Lane<'start'> | Lane<'progress'> | Lane<'log'>;

/** Whether the answer decides: it is not sent again. */
function settled(result: ReportResult, project: string | undefined): boolean {
  if (result.kind !== 'refused') return result.kind === 'ok';
  return !isBusy(result.status) && !refusesKey(result, project);
}

/** Keeps one log report well under `limits.batchBytes`, whatever the characters take as UTF-8. */
const LOG_REPORT_CHARS = 131_072;
