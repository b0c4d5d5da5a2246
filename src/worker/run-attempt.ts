import { typeKey } from '../contract/names.ts';
import { resultSize } from '../contract/result-bound.ts';
import type { AttemptEffect } from '../core/attempt.ts';
import { timeLimit } from '../core/attempt-report.ts';
import { isShort } from '../core/claim-ahead.ts';
import { hostDefaults, workerDefaults } from '../core/defaults.ts';
import { instantText } from '../core/instant.ts';
import type { JobEnd, StopReason } from '../ports/carrier.ts';
import { Attempts } from './attempts.ts';
import type { WorkerContext } from './context.ts';
import { Gates } from './gates.ts';
import { type Held, label, reportOf } from './held.ts';
import { JobWords } from './job-words.ts';
import { OnDisk } from './on-disk.ts';
import { QuickReports } from './quick-reports.ts';
import { ReportLoop } from './report-loop.ts';

/**
 * Carries out what the machine of an attempt asks for: asks gates, runs and stops the handler, writes the report and
 * hands it to the report loop. It decides nothing; whatever happens goes back into the machine as an event.
 */
export class RunAttempt {
  readonly #ctx: WorkerContext;
  readonly attempts: Attempts;
  readonly reports: ReportLoop;
  readonly #gates: Gates;
  readonly #words: QuickReports;
  readonly #disk: OnDisk;

  constructor(ctx: WorkerContext) {
    this.#ctx = ctx;
    this.attempts = new Attempts(ctx, (held, effects) => this.#carryOut(held, effects));
    this.reports = new ReportLoop(ctx, this.attempts);
    // Two, so that slow progress never holds a gate shut.
    this.#gates = new Gates(ctx, this.attempts, new QuickReports(ctx));
    this.#words = new QuickReports(ctx);
    this.#disk = new OnDisk(ctx, this.attempts);
  }

  /** For an attempt at `ending`: makes its report durable, as the machine asks elsewhere. */
  writeReport(held: Held): void {
    this.#disk.one(held, { do: 'write-report', report: reportOf(held) });
  }

  /** The worker has ended: nothing is to be timed or said any more, whatever a handler still does. */
  stop(): void {
    this.#disk.flush();
    for (const held of this.attempts) void held.words?.end();
    this.#ctx.deadlines.stop();
  }

  #carryOut(held: Held, effects: readonly AttemptEffect[]): void {
    let disk: AttemptEffect[] | undefined;
    for (const effect of effects) {
      switch (effect.do) {
        case 'ask-gate':
          void this.#gates.ask(held, effect.op, effect.after);
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
          if (disk === undefined) disk = [effect];
          else disk.push(effect);
      }
    }
    const [only] = disk ?? [];
    if (only === undefined) return;
    if (disk?.length === 1) this.#disk.one(held, only);
    else void this.#disk.carryOut(held, disk as AttemptEffect[]);
  }

  #startHandler(held: Held): void {
    const { work } = held;
    if (!work) throw new Error(`attempt ${held.attempt.attemptId} has nothing to run`);
    const { attempt, handler } = work;
    const words = new JobWords(this.#ctx, this.attempts, this.#words, held);
    held.words = words;
    let begun = false;
    const limit = timeLimit(handler.timeoutMs, attempt.policy.attemptTimeoutMs);
    const outOfTime = () => this.attempts.feed(held, { kind: 'timed-out' });
    // A host that starts slowly takes nothing from its handler's time.
    const timeIt = () => {
      if (begun && held.job && limit !== undefined) this.#time(held, limit.ms, outOfTime);
    };
    const job = this.#ctx.ports.carrier.start(
      {
        taskId: attempt.taskId,
        attemptId: attempt.attemptId,
        attempt: attempt.attempt,
        ...(attempt.attempt >= attempt.policy.maxAttempts ? { lastPermitted: true } : {}),
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
        ...(handler.code === undefined ? {} : { code: handler.code }),
        // Claimed as non-idempotent, whatever its handler says by now: alone.
        ...(handler.host === 'shared' && attempt.effectSafety !== 'non-idempotent'
          ? { sharesHost: true }
          : {}),
      },
      {
        giving: (host) => this.#disk.markBegun(held, host),
        begun: (agoMs = 0) => {
          this.#note(held, 'startedAt', agoMs);
          this.attempts.feed(held, { kind: 'begun' });
          this.#ctx.pauses.begun(attempt);
          begun = true;
          held.begunAt = this.#ctx.ports.clock.now() - agoMs;
          timeIt();
        },
        progress: (update) => words.progress(update),
        log: (lines) => words.log(lines),
        effectRequested: () => this.attempts.feed(held, { kind: 'effect-requested' }),
        stuck: () => this.#stuck(held),
      },
    );
    held.job = job;
    timeIt();
    const type = typeKey(attempt.type, attempt.schemaVersion);
    if (isShort(this.#ctx.durations.typicalMs(type))) this.#ctx.ports.spool.expectReport();
    if (limit !== undefined) this.#time(held, limit.ms + workerDefaults.beginMs, outOfTime);
    void job.ended.then((ended) => {
      const end = withinBound(held, ended);
      for (const timer of held.timers ?? []) timer.cancel();
      held.timers = undefined;
      void words.end();
      this.#note(held, 'endedAt');
      this.#took(held);
      // Before the slot is free and asks for work.
      this.#ctx.pauses.ended(attempt, end);
      this.attempts.feed(held, { kind: 'handler-ended', end, limit });
    });
  }

  #took({ attempt, begunAt, slotAt }: Held): void {
    if (begunAt === undefined) return;
    const now = this.#ctx.ports.clock.now();
    const tookMs = now - begunAt;
    const type = typeKey(attempt.type, attempt.schemaVersion);
    this.#ctx.durations.turned(type, now - (slotAt ?? begunAt));
    this.#ctx.meter.handler(type, tookMs);
    this.#ctx.durations.ended(type, tookMs);
  }

  #note(held: Held, what: 'startedAt' | 'endedAt', agoMs = 0): void {
    const at = instantText(Math.round(this.#ctx.ports.clock.wall() - agoMs));
    held.workedAt ??= {};
    held.workedAt[what] = at;
  }

  #stopHandler(held: Held, reason: StopReason): void {
    if (!held.job) return;
    const { log } = this.#ctx.ports;
    const graceMs = this.#ctx.stopGraceMs();
    // What was asked for is no trouble; that its time or its lease was up is.
    const level = reason === 'timeout' || reason === 'lease' ? 'warn' : 'info';
    log[level](
      'handler.stopping',
      `${label(held)} is being stopped (${reason}); it has ${(graceMs / 1000).toFixed(1)} s.`,
      { attemptId: held.attempt.attemptId, reason },
    );
    held.job.stop(reason, graceMs);
    this.#time(held, graceMs + workerDefaults.killWaitMs, () => this.#stuck(held));
  }

  /** Stopped or killed, also for what it left behind after its end, and not gone: it keeps its slot, and nothing is said for it. */
  #stuck(held: Held): void {
    if (held.state.phase !== 'running' || held.state.stuck) return;
    const { carrier, log } = this.#ctx.ports;
    log.error(
      'handler.stuck',
      carrier.inProgram
        ? `${label(held)} was told to stop and does not. It runs inside this program, so it cannot be killed: its slot stays taken until it ends, and while it does not give way (await), it holds the program's thread. Serve what may hang with interlock-worker.`
        : `${label(held)} was killed but its process does not go; its slot stays taken. Look for a process in state D (a hanging disk or driver).`,
      { attemptId: held.attempt.attemptId, pid: held.job?.pid },
    );
    this.attempts.feed(held, { kind: 'handler-stuck' });
    this.#ctx.wake.presence.wake();
  }

  /** Unless the job ends before. */
  #time(held: Held, ms: number, fire: () => void): void {
    held.timers ??= [];
    held.timers.push(this.#ctx.deadlines.after(ms, fire));
  }
}

/** Whatever carrier ran it: what could not be kept beside other reports is not spooled. */
function withinBound(held: Held, end: JobEnd): JobEnd {
  if (end.how !== 'returned') return end;
  const size = resultSize(hostDefaults.resultBytes, end.result);
  if (typeof size !== 'number') return { how: 'threw', error: size };
  held.resultBytes = size;
  return end;
}
