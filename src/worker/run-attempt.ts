import type { ReportOf, TerminalReport } from '../contract/index.ts';
import type { AttemptEffect, GateAnswer } from '../core/attempt.ts';
import { four } from '../core/attempt-report.ts';
import { backoffMs } from '../core/backoff.ts';
import { workerDefaults } from '../core/defaults.ts';
import { decideAnswer } from '../core/report-answer.ts';
import type { StopReason } from '../ports/carrier.ts';
import { Attempts, type Held, label } from './attempts.ts';
import { refusesKey, type WorkerContext } from './context.ts';
import { JobWords } from './job-words.ts';
import { QuickReports } from './quick-reports.ts';
import { ReportLoop } from './report-loop.ts';
import { type ReportResult, sendReports } from './send-reports.ts';

/**
 * Carries out what the machine of an attempt asks for: asks gates, runs and stops the handler, writes the report and
 * hands it to the report loop. It decides nothing; whatever happens goes back into the machine as an event.
 */
export class RunAttempt {
  readonly #ctx: WorkerContext;
  readonly attempts: Attempts;
  readonly reports: ReportLoop;
  readonly #quick: QuickReports;

  constructor(ctx: WorkerContext) {
    this.#ctx = ctx;
    this.attempts = new Attempts(ctx, (held, effects) => this.#carryOut(held, effects));
    this.reports = new ReportLoop(ctx, this.attempts);
    this.#quick = new QuickReports(ctx);
  }

  #carryOut(held: Held, effects: readonly AttemptEffect[]): void {
    const disk: AttemptEffect[] = [];
    for (const effect of effects) {
      switch (effect.do) {
        case 'ask-gate':
          void this.#askGate(held, effect.op, effect.after);
          break;
        case 'start-handler':
          this.#startHandler(held);
          break;
        case 'send-start-soon':
          held.words?.startSoon();
          break;
        case 'open-gate':
          held.job?.openGate();
          break;
        case 'refuse-gate':
          held.job?.refuseGate(effect.why);
          break;
        case 'stop-handler':
          this.#stopHandler(held, effect.reason);
          break;
        case 'send-report':
          this.reports.add(held);
          break;
        case 'free-slot':
          break; // The machine's `slot` is the truth; Attempts counts it.
        default:
          disk.push(effect);
      }
    }
    if (disk.length > 0) void this.#onDisk(held, disk);
  }

  /** What touches the disk is done in order: a set-aside is durable before what follows it is written. */
  async #onDisk(held: Held, effects: readonly AttemptEffect[]): Promise<void> {
    const { spool } = this.#ctx.ports;
    for (const effect of effects) {
      switch (effect.do) {
        case 'mark-begun':
          await this.#tolerate(held, 'mark the running record', () =>
            spool.markBegun(held.attempt.attemptId),
          );
          break;
        case 'set-aside':
          await this.#setAside(held, effect.as);
          break;
        case 'write-report':
          await this.#writeReport(held, effect.report);
          break;
        case 'forget':
          if (!this.#ctx.stopped || held.record) await this.#forget(held);
          break;
        default:
          throw new Error(`effect '${effect.do}' is not one of the disk's`);
      }
    }
  }

  async #forget(held: Held): Promise<void> {
    const { spool } = this.#ctx.ports;
    const { record } = held;
    if (record)
      await this.#tolerate(held, 'remove the answered report', () => spool.answered(record));
    else
      await this.#tolerate(held, 'remove the running record', () =>
        spool.forget(held.attempt.attemptId),
      );
  }

  /** Kept in its file until it is set aside: a result is never dropped because a disk was full. */
  async #setAside(held: Held, as: 'stale' | 'refused'): Promise<void> {
    const { clock, log, spool } = this.#ctx.ports;
    const { record } = held;
    if (!record) return;
    delete held.record;
    const answer = held.refusal ?? { note: 'another report of the attempt was told STALE_ATTEMPT' };
    for (let failures = 0; !this.#ctx.stopped; failures++) {
      try {
        await spool.setAside(record, as, answer);
        return;
      } catch (cause) {
        if (failures === 0)
          log.error(
            'spool.trouble',
            `The ${as} report of ${label(held)} could not be set aside: ${causeText(cause)} It is tried again.`,
            { attemptId: held.attempt.attemptId },
          );
      }
      await clock.sleep(workerDefaults.spoolRetryMs);
    }
  }

  /** Trouble with the disk after the fact costs a repetition, never a result: it is told and work goes on. */
  async #tolerate(held: Held, what: string, work: () => unknown): Promise<void> {
    try {
      await work();
    } catch (cause) {
      this.#ctx.ports.log.error(
        'spool.trouble',
        `Could not ${what} of ${label(held)}: ${causeText(cause)}`,
        { attemptId: held.attempt.attemptId },
      );
    }
  }

  /** Durable first, sent after. While the disk refuses, the report is sent directly and the disk is tried again. */
  async #writeReport(held: Held, report: TerminalReport): Promise<void> {
    const { spool, clock, log } = this.#ctx.ports;
    const meta = {
      type: held.attempt.type,
      schemaVersion: held.attempt.schemaVersion,
      ...(this.#ctx.project === undefined ? {} : { project: this.#ctx.project }),
      followUp: held.state.followUp,
    };
    for (let failures = 0; ; failures++) {
      try {
        held.record = await spool.writeReport(report, meta);
        this.attempts.feed(held, { kind: 'report-written' });
        return;
      } catch (cause) {
        const why = causeText(cause);
        this.#ctx.trouble('spool', `the spool cannot be written (${why})`);
        if (failures === 0)
          log.error(
            'spool.write-failed',
            `The report of ${label(held)} could not be written to the spool: ${why} It is sent directly; its lease is renewed meanwhile.`,
            { attemptId: held.attempt.attemptId },
          );
      }
      this.attempts.feed(held, { kind: 'report-not-written' });
      if (held.state.phase !== 'ending' || (await this.#sendDirectly(held, report))) return;
      if (this.#ctx.stopped) return;
      await clock.sleep(workerDefaults.spoolRetryMs);
    }
  }

  /** `true` if the answer decided. */
  async #sendDirectly(held: Held, report: TerminalReport): Promise<boolean> {
    const [result] = await sendReports(this.#ctx, [report]);
    if (!result || held.state.phase !== 'ending') return held.state.phase !== 'ending';
    const decision = decideAnswer(report, result, {
      project: this.#ctx.project,
      followUp: held.state.followUp,
    });
    if (decision.kind === 'keep') return false;
    if (result.kind === 'refused')
      held.refusal = { status: result.status, problem: result.problem };
    this.attempts.feed(held, { kind: 'report-answered', verdict: decision });
    return true;
  }

  #startHandler(held: Held): void {
    const { work } = held;
    if (!work) throw new Error(`attempt ${held.attempt.attemptId} has nothing to run`);
    const { attempt, handler } = work;
    const words = new JobWords(this.#ctx, this.attempts, this.#quick, held);
    held.words = words;
    const job = this.#ctx.ports.carrier.start(
      {
        taskId: attempt.taskId,
        attemptId: attempt.attemptId,
        attempt: attempt.attempt,
        fence: attempt.fence,
        type: attempt.type,
        schemaVersion: attempt.schemaVersion,
        effectKey: attempt.effectKey,
        effectSafety: attempt.effectSafety,
        effectGate: attempt.effectGate,
        labels: attempt.labels,
        input: attempt.input,
        ...(attempt.checkpoint === undefined ? {} : { checkpoint: attempt.checkpoint }),
        ...(attempt.traceparent === undefined ? {} : { traceparent: attempt.traceparent }),
        ...(handler.file === undefined ? {} : { file: handler.file }),
      },
      {
        begun: () => this.attempts.feed(held, { kind: 'begun' }),
        progress: (update) => words.progress(update),
        log: (lines) => words.log(lines),
        effectRequested: () => this.attempts.feed(held, { kind: 'effect-requested' }),
      },
    );
    held.job = job;
    const limit = shorter(handler.timeoutMs, attempt.policy.attemptTimeoutMs);
    const timer =
      limit === undefined
        ? undefined
        : this.#ctx.ports.clock.timer(limit, () => this.attempts.feed(held, { kind: 'timed-out' }));
    void job.ended.then((end) => {
      timer?.cancel();
      this.attempts.feed(held, { kind: 'handler-ended', end });
    });
  }

  #stopHandler(held: Held, reason: StopReason): void {
    const { clock, log } = this.#ctx.ports;
    const { stopGraceMs } = this.#ctx.settings;
    log.info(
      'handler.stopping',
      `${label(held)} is being stopped (${reason}); it has ${Math.round(stopGraceMs / 1000)} s.`,
      { attemptId: held.attempt.attemptId, reason },
    );
    held.job?.stop(reason, stopGraceMs);
    const timer = clock.timer(stopGraceMs + workerDefaults.killWaitMs, () => {
      if (held.state.phase !== 'running') return;
      log.error(
        'handler.stuck',
        `${label(held)} was killed but its process does not go; its slot stays taken. Look for a process in state D (a hanging disk or driver).`,
        { attemptId: held.attempt.attemptId, pid: held.job?.pid },
      );
      this.attempts.feed(held, { kind: 'handler-stuck' });
      this.#ctx.wake.presence.wake();
    });
    void held.job?.ended.then(() => timer.cancel());
  }

  async #askGate(
    held: Held,
    op: 'start' | 'effect',
    after: 'nothing' | 'renewal' | 'pause',
    failures = 1,
  ): Promise<void> {
    const { clock, random } = this.#ctx.ports;
    if (after === 'pause') {
      await clock.sleep(
        backoffMs(
          { ...workerDefaults.retry, maxMs: GATE_PAUSE_MAX_MS },
          failures,
          random.fraction(),
        ),
      );
    } else if (after === 'renewal') {
      const renewal = await this.#quick.send({ op: 'renew', ...four(held.attempt) });
      if (renewal.kind === 'ok') this.attempts.accepted(held, renewal);
    }
    if (held.state.gate !== 'asking') return;
    const report: ReportOf<'start' | 'effect'> = {
      op,
      ...four(held.attempt),
      sessionId: this.#ctx.settings.sessionId,
    };
    const result = await this.#quick.send(report);
    const answer = await this.#gateAnswer(held, result);
    if (answer === 'no-answer' && held.state.gate === 'asking') {
      // The machine would only say "again": the pause grows here, where the count is.
      const wait = result.kind === 'ok' ? 0 : (result.retryAfterMs ?? 0);
      if (wait > 0) await clock.sleep(wait);
      void this.#askGate(held, op, 'pause', failures + 1);
      return;
    }
    this.attempts.feed(held, { kind: 'gate-answered', answer });
  }

  async #gateAnswer(held: Held, result: ReportResult): Promise<GateAnswer> {
    if (result.kind === 'no-answer') return 'no-answer';
    if (result.kind === 'ok') {
      this.attempts.accepted(held, result);
      return 'accepted';
    }
    const { status, problem } = result;
    if (problem.code === 'STALE_ATTEMPT') return 'stale';
    if (problem.code === 'LEASE_EXPIRED') return 'lease-expired';
    if (problem.code === 'SESSION_SUPERSEDED') {
      this.#ctx.onSuperseded(problem.detail ?? 'another process took over this worker id');
      return 'superseded';
    }
    if (refusesKey(status)) {
      await this.#ctx.keyRefused(status, problem);
      return 'no-answer';
    }
    return status === 408 || status === 425 || status === 429 || status >= 500
      ? 'no-answer'
      : 'refused';
  }
}

/** A gate is asked more often than other things are: a handler (and a slot) waits for it. */
const GATE_PAUSE_MAX_MS = 5_000;

function shorter(a: number | undefined, b: number | null): number | undefined {
  if (a === undefined) return b ?? undefined;
  return b === null ? a : Math.min(a, b);
}

function causeText(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
