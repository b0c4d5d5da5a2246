/**
 * Sends terminal reports until each is answered. Woken by a new report, a free call, a new key, or the end of a pause.
 * Reports that are ready together go together; a report that is told to wait (429, 5xx) holds up no other. While there is
 * no answer at all one call at a time asks on, with backoff, and everything waits on disk. Ends when told to.
 */
import type { Problem, Report } from '../contract/index.ts';
import { backoffMs } from '../core/backoff.ts';
import { workerDefaults } from '../core/defaults.ts';
import { type Decision, decideAnswer } from '../core/report-answer.ts';
import { type Attempts, type Held, label, reportOf } from './attempts.ts';
import { refusesKey, type WorkerContext } from './context.ts';
import { missing } from './quick-reports.ts';
import { type ReportResult, sendReports } from './send-reports.ts';

interface Pending {
  readonly held: Held;
  /** What the handler said on the way and was not answered. */
  before: Report[];
  notBefore: number;
  tries: number;
  inFlight: boolean;
}

export class ReportLoop {
  readonly #ctx: WorkerContext;
  readonly #attempts: Attempts;
  readonly #pending = new Map<string, Pending>();
  #calls = 0;
  /** No answers in a row, and when to ask again. */
  #silences = 0;
  #silentUntil = 0;
  #done: Promise<void> | undefined;
  /** When a report was last answered, by the clock; for status. */
  lastAnswerAt: number | undefined;

  constructor(ctx: WorkerContext, attempts: Attempts) {
    this.#ctx = ctx;
    this.#attempts = attempts;
  }

  start(): void {
    this.#done ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#ctx.wake.reports.wake();
    await this.#done;
  }

  /** The attempt's report is durable (or is a release): send it until it is answered. */
  add(held: Held): void {
    this.#pending.set(held.attempt.attemptId, {
      held,
      before: held.words?.take() ?? [],
      notBefore: 0,
      tries: 0,
      inFlight: false,
    });
    this.#ctx.wake.reports.wake();
  }

  get unanswered(): number {
    return this.#pending.size;
  }

  async #run(): Promise<void> {
    while (!this.#ctx.stopped) {
      await this.#ctx.wake.reports.wait(this.#pause());
      this.#send();
    }
  }

  /** How long until something may be sent, unless woken. */
  #pause(): number {
    if (this.#calls >= this.#maxCalls()) return Number.POSITIVE_INFINITY;
    const now = this.#ctx.ports.clock.now();
    let next = Number.POSITIVE_INFINITY;
    for (const pending of this.#pending.values()) {
      if (!pending.inFlight) next = Math.min(next, pending.notBefore);
      if (next <= now) break;
    }
    return Math.max(next, this.#silentUntil) - now;
  }

  #maxCalls(): number {
    return this.#silences > 0 ? 1 : MAX_CALLS;
  }

  #send(): void {
    const now = this.#ctx.ports.clock.now();
    if (this.#ctx.stopped || now < this.#silentUntil) return;
    while (this.#calls < this.#maxCalls()) {
      const group = this.#due(now);
      if (group.length === 0) return;
      void this.#call(group);
    }
  }

  #due(now: number): Pending[] {
    const group: Pending[] = [];
    for (const pending of this.#pending.values()) {
      if (pending.inFlight || pending.notBefore > now) continue;
      group.push(pending);
      if (group.length >= this.#ctx.limits.batch) break;
    }
    return group;
  }

  async #call(group: readonly Pending[]): Promise<void> {
    this.#calls++;
    const reports: Report[] = [];
    for (const pending of group) {
      pending.inFlight = true;
      reports.push(...pending.before, reportOf(pending.held));
    }
    const results = await sendReports(this.#ctx, reports);
    this.#calls--;
    this.#heard(results);
    let at = 0;
    for (const pending of group) {
      pending.inFlight = false;
      const before = results.slice(at, at + pending.before.length);
      at += pending.before.length;
      pending.before = pending.before.filter((_, i) => owed(before[i]));
      await this.#answered(pending, results[at++] ?? missing(this.#ctx));
    }
    this.#ctx.wake.reports.wake();
  }

  /** Silence is about the line, not about a report: it slows all; any answer ends it. */
  #heard(results: readonly ReportResult[]): void {
    const { clock, log, random } = this.#ctx.ports;
    const silent = results.every(
      (result) =>
        result.kind === 'no-answer' || (result.kind === 'refused' && refusesKey(result.status)),
    );
    if (!silent) {
      if (this.#silences > 0)
        log.info('report.answered-again', 'The control plane answers reports again.');
      this.#silences = 0;
      this.#silentUntil = 0;
      return;
    }
    this.#silences++;
    const [first] = results;
    const asked = first !== undefined && first.kind !== 'ok' ? (first.retryAfterMs ?? 0) : 0;
    const pause = Math.max(
      backoffMs(workerDefaults.retry, this.#silences, random.fraction()),
      asked,
    );
    this.#silentUntil = clock.now() + pause;
    if (this.#silences === 1 && first?.kind === 'no-answer') {
      log.warn(
        'report.no-answer',
        `Reports get no answer: ${first.why} They are kept on disk and sent again; the next try is in ${(pause / 1000).toFixed(1)} s.`,
        { waiting: this.#pending.size },
      );
    }
  }

  async #answered(pending: Pending, result: ReportResult): Promise<void> {
    const { held } = pending;
    const decision = decideAnswer(reportOf(held), result, {
      project: held.record?.project ?? this.#ctx.project,
      followUp: held.state.followUp,
      begun: held.state.begun,
    });
    if (decision.kind === 'keep') {
      await this.#keep(pending, result, decision);
      return;
    }
    this.lastAnswerAt = this.#ctx.ports.clock.now();
    this.#ctx.keyAccepted();
    this.#pending.delete(held.attempt.attemptId);
    if (result.kind === 'refused')
      held.refusal = { status: result.status, problem: result.problem };
    this.#tell(held, decision, result.kind === 'refused' ? result.problem : undefined);
    this.#attempts.feed(held, { kind: 'report-answered', verdict: decision });
  }

  async #keep(
    pending: Pending,
    result: ReportResult,
    decision: Extract<Decision, { kind: 'keep' }>,
  ): Promise<void> {
    const { clock, random } = this.#ctx.ports;
    if (decision.because === 'no-answer') return;
    if (decision.because === 'key' && result.kind === 'refused') {
      if (await this.#ctx.keyRefused(result.status, result.problem)) this.#silentUntil = 0;
      return;
    }
    pending.tries++;
    const max =
      decision.because === 'operation'
        ? workerDefaults.refusedKeyRetryMaxMs
        : workerDefaults.retry.maxMs;
    const pause = backoffMs(
      { ...workerDefaults.retry, maxMs: max },
      pending.tries,
      random.fraction(),
    );
    pending.notBefore =
      clock.now() + Math.max(pause, result.kind === 'ok' ? 0 : (result.retryAfterMs ?? 0));
  }

  #tell(
    held: Held,
    decision: Exclude<Decision, { kind: 'keep' }>,
    problem: Problem | undefined,
  ): void {
    const { log } = this.#ctx.ports;
    const ids = {
      taskId: held.attempt.taskId,
      attemptId: held.attempt.attemptId,
      op: reportOf(held).op,
    };
    if (decision.kind === 'stale') {
      const kept = decision.recorded
        ? 'The control plane kept it as a late report; an operator can take it.'
        : 'Another attempt or an operator decided the task.';
      log.warn(
        'report.stale',
        `The report of ${label(held)} came too late. ${kept} It is set aside in the spool.`,
        ids,
      );
    } else if (decision.kind === 'refused') {
      log.error(
        'report.refused',
        `The report of ${label(held)} was refused for good (${problem?.code}): ${problem?.detail ?? ''} It is set aside in the spool; see \`interlock tasks doctor --spool\`.`,
        ids,
      );
    }
  }
}

/** Calls under way at once: the next group gathers while others wait for their answers. */
const MAX_CALLS = 4;

function owed(result: ReportResult | undefined): boolean {
  return (
    result === undefined ||
    result.kind === 'no-answer' ||
    (result.kind === 'refused' &&
      (result.status === 429 || result.status >= 500 || refusesKey(result.status)))
  );
}
