import type { Report, ReportOf } from '../contract/index.ts';
import { bounds } from '../contract/limits.ts';
import { four } from '../core/attempt-report.ts';
import { backoffMs } from '../core/backoff.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { LogLine, ProgressUpdate } from '../ports/carrier.ts';
import type { Timer } from '../ports/clock.ts';
import type { Attempts, Held } from './attempts.ts';
import { refusesKey, type WorkerContext } from './context.ts';
import type { QuickReports } from './quick-reports.ts';
import type { ReportResult } from './send-reports.ts';

/**
 * What a running handler says on the way: the lazy `start`, progress, log lines. At most one `progress` and one `log` are
 * on their way; the latest progress wins, log lines are bounded. What was not answered when the handler ends goes
 * out before its report, with the same `n`, so nothing is counted twice.
 */
export class JobWords {
  readonly #ctx: WorkerContext;
  readonly #attempts: Attempts;
  readonly #quick: QuickReports;
  readonly #held: Held;
  readonly #progress = new Lane<'progress'>();
  readonly #log = new Lane<'log'>();
  #lines: LogLine[] = [];
  #dropped = 0;
  #startOwed = false;
  #timers = new Set<Timer>();
  #over = false;

  constructor(ctx: WorkerContext, attempts: Attempts, quick: QuickReports, held: Held) {
    this.#ctx = ctx;
    this.#attempts = attempts;
    this.#quick = quick;
    this.#held = held;
  }

  /** Where `start` is no gate: within a second of the beginning, or with the next report. */
  startSoon(): void {
    this.#startOwed = true;
    this.#later(workerDefaults.lazyStartMs, () => void this.#sendStart());
  }

  progress(update: ProgressUpdate): void {
    this.#progress.waiting = { ...this.#progress.waiting, ...update };
    this.#pump();
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

  /** The handler has gone: what is still owed, to be sent before its report. Nothing is sent from here any more. */
  take(): Report[] {
    this.#over = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    const reports: Report[] = [];
    if (this.#startOwed) reports.push(this.#start());
    const progress = this.#progress.unanswered ?? this.#nextProgress();
    if (progress) reports.push(progress);
    if (this.#log.unanswered) reports.push(this.#log.unanswered);
    for (let next = this.#nextLog(); next; next = this.#nextLog()) reports.push(next);
    return reports;
  }

  #pump(): void {
    this.#drive(this.#progress, () => this.#nextProgress());
    this.#drive(this.#log, () => this.#nextLog());
  }

  #drive<O extends 'progress' | 'log'>(lane: Lane<O>, next: () => ReportOf<O> | undefined): void {
    if (this.#over || lane.busy) return;
    const { clock } = this.#ctx.ports;
    const wait = lane.notBefore - clock.now();
    if (wait > 0) {
      lane.busy = true;
      this.#later(wait, () => {
        lane.busy = false;
        this.#drive(lane, next);
      });
      return;
    }
    const report = lane.unanswered ?? next();
    if (!report) return;
    lane.unanswered = report;
    lane.busy = true;
    lane.notBefore = clock.now() + workerDefaults.progressEveryMs;
    void this.#sendStart();
    void this.#quick.send(report).then((result) => {
      lane.busy = false;
      if (this.#over) return;
      if (this.#answered(result, report.op)) {
        lane.unanswered = undefined;
        lane.failures = 0;
      } else {
        lane.failures++;
        lane.notBefore =
          clock.now() +
          Math.max(
            backoffMs(workerDefaults.retry, lane.failures, this.#ctx.ports.random.fraction()),
            result.kind === 'ok' ? 0 : (result.retryAfterMs ?? 0),
          );
      }
      this.#drive(lane, next);
    });
  }

  async #sendStart(): Promise<void> {
    if (!this.#startOwed || this.#over) return;
    this.#startOwed = false;
    const result = await this.#quick.send(this.#start());
    if (this.#over || this.#answered(result, 'start')) return;
    this.#startOwed = true;
    this.#later(workerDefaults.lazyStartMs, () => void this.#sendStart());
  }

  /** `false`: there was no answer, it is sent again. */
  #answered(result: ReportResult, op: string): boolean {
    if (result.kind === 'no-answer') return false;
    if (result.kind === 'ok') {
      this.#attempts.accepted(this.#held, result);
      return true;
    }
    const { problem, status } = result;
    if (problem.code === 'STALE_ATTEMPT') this.#attempts.feed(this.#held, { kind: 'stale' });
    else if (problem.code === 'LEASE_EXPIRED')
      this.#attempts.feed(this.#held, { kind: 'lease-ran-out' });
    else if (problem.code === 'SESSION_SUPERSEDED') this.#ctx.onSuperseded(problem.detail ?? '');
    else if (refusesKey(status)) {
      void this.#ctx.keyRefused(status, problem);
      return false;
    } else if (status === 429 || status === 408 || status >= 500) return false;
    else
      this.#ctx.ports.log.warn(
        'report.dropped',
        `A ${op} report of ${this.#held.attempt.attemptId} was refused (${status} ${problem.code}) and is dropped: ${problem.detail ?? ''}`,
        { attemptId: this.#held.attempt.attemptId, op, code: problem.code },
      );
    return true;
  }

  #start(): ReportOf<'start'> {
    return { op: 'start', ...four(this.#held.attempt), sessionId: this.#ctx.settings.sessionId };
  }

  #nextProgress(): ReportOf<'progress'> | undefined {
    const update = this.#progress.waiting;
    if (!update) return undefined;
    this.#progress.waiting = undefined;
    return { op: 'progress', ...four(this.#held.attempt), n: ++this.#progress.n, ...update };
  }

  #nextLog(): ReportOf<'log'> | undefined {
    if (this.#lines.length === 0) return undefined;
    const lines: LogLine[] = [];
    let bytes = 0;
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
      bytes < LOG_REPORT_CHARS
    ) {
      const line = this.#lines.shift() as LogLine;
      bytes += line.text.length;
      lines.push(line);
    }
    return { op: 'log', ...four(this.#held.attempt), n: ++this.#log.n, lines };
  }

  #later(ms: number, work: () => void): void {
    const timer = this.#ctx.ports.clock.timer(ms, () => {
      this.#timers.delete(timer);
      if (!this.#over) work();
    });
    this.#timers.add(timer);
  }
}

/** One report on its way at most. */
class Lane<O extends 'progress' | 'log'> {
  n = 0;
  busy = false;
  notBefore = 0;
  failures = 0;
  waiting: ProgressUpdate | undefined;
  unanswered: ReportOf<O> | undefined;
}

/** Keeps one log report well under `limits.batchBytes`, whatever the characters take as UTF-8. */
const LOG_REPORT_CHARS = 131_072;
