import type {
  EffectGate,
  EffectSafety,
  KeptHandler,
  PausedType,
  StuckHandler,
  UnservedHandler,
} from '../contract/index.ts';
import { typeKey } from '../contract/names.ts';
import { type DrainEstimate, estimateDrain } from '../core/drain-estimate.ts';
import type { WorkerContext } from './context.ts';
import type { RunAttempt } from './run-attempt.ts';

/** How the worker is, for people and programs on the same machine. */
export interface WorkerStatus {
  readonly workerId: string;
  readonly state: 'ready' | 'full' | 'draining' | 'stopped';
  /** In words: why nothing at all is claimed; absent while all is well. */
  readonly notClaiming?: string;
  /** Types that are left alone for a while, each with its reason. */
  readonly pausedTypes: readonly PausedType[];
  /** Types whose file cannot be loaded any more: the code of before is served. */
  readonly keptHandlers: readonly KeptHandler[];
  /** Files of the handlers folder that cannot be served. */
  readonly unservedHandlers: readonly UnservedHandler[];
  /** Handlers that do not go; each keeps its slot: killed, or without `pids` inside this program and deaf to their stop. */
  readonly stuck: readonly StuckHandler[];
  readonly slots: { readonly max: number; readonly busy: number; readonly waiting: number };
  readonly hintsWork: boolean;
  /** Reports that are not answered yet. */
  readonly unanswered: number;
  readonly uptimeMs: number;
  /** How long ago one truly succeeded; absent where none has yet. */
  readonly lastClaimOkMs?: number;
  readonly lastRenewalOkMs?: number;
  /** What is on disk and not answered; `ok`: it can take more. */
  readonly spool: {
    readonly records: number;
    readonly bytes: number;
    readonly oldestMs: number | null;
    readonly ok: boolean;
  };
  /** How long a drain would take, or the one under way still takes. */
  readonly drain: DrainEstimate;
  readonly handlers: readonly {
    readonly type: string;
    readonly schemaVersion: number;
    readonly effectSafety: EffectSafety;
    readonly effectGate: EffectGate;
    /** Its tasks may share a process; absent: each has one of its own. */
    readonly host?: 'shared';
  }[];
  readonly versions: Readonly<Record<string, string>>;
  readonly attempts: readonly {
    readonly taskId: string;
    readonly attemptId: string;
    readonly type: string;
    readonly schemaVersion: number;
    readonly phase: string;
    readonly leaseLeftMs: number;
    /** Since its handler got its input; absent where it has not. */
    readonly runningMs?: number;
    readonly pid?: number;
    /** One of the tasks in its shared process holds the thread: it waits, and keeps its slot. */
    readonly heldUp?: true;
    /** Killed or told to stop, and it does not go. */
    readonly stuck: boolean;
  }[];
}

export function workerStatus(ctx: WorkerContext, run: RunAttempt): WorkerStatus {
  const { contact, settings, ports } = ctx;
  const { held, waiting } = run.attempts.slots;
  const working = held >= settings.maxConcurrent ? 'full' : 'ready';
  const why = ctx.notClaiming;
  const now = ports.clock.now();
  const ago = (at: number) => Math.round(now - at);
  const { pending, bytes, oldestMs, ok } = ports.spool.stats();
  return {
    workerId: settings.workerId,
    state: ctx.stopped ? 'stopped' : ctx.draining ? 'draining' : working,
    ...(why === undefined ? {} : { notClaiming: why }),
    pausedTypes: ctx.pauses.types,
    keptHandlers: ctx.served.kept,
    unservedHandlers: ctx.served.unserved,
    stuck: run.attempts.stuck,
    slots: { max: settings.maxConcurrent, busy: held, waiting },
    hintsWork: ctx.hintsWork,
    unanswered: run.reports.unanswered,
    uptimeMs: ago(contact.startedAt),
    ...(contact.claimOkAt === undefined ? {} : { lastClaimOkMs: ago(contact.claimOkAt) }),
    ...(contact.renewalOkAt === undefined ? {} : { lastRenewalOkMs: ago(contact.renewalOkAt) }),
    spool: {
      records: pending,
      bytes,
      oldestMs: oldestMs === null ? null : Math.round(oldestMs),
      ok,
    },
    drain: drainOf(ctx, run, now),
    handlers: settings.handlers.map(({ type, schemaVersion, effectSafety, effectGate, host }) => ({
      type,
      schemaVersion,
      effectSafety,
      effectGate,
      ...(host && { host }),
    })),
    versions: settings.versions,
    attempts: [...run.attempts].map((one) => ({
      taskId: one.attempt.taskId,
      attemptId: one.attempt.attemptId,
      type: one.attempt.type,
      schemaVersion: one.attempt.schemaVersion,
      phase: one.state.phase,
      leaseLeftMs: Math.round(one.leaseUntil - now),
      ...(one.begunAt === undefined || one.state.phase !== 'running'
        ? {}
        : { runningMs: ago(one.begunAt) }),
      ...(one.job?.pid === undefined ? {} : { pid: one.job.pid }),
      ...(one.job?.heldUp === true ? { heldUp: true as const } : {}),
      stuck: one.state.stuck,
    })),
  };
}

function drainOf(ctx: WorkerContext, run: RunAttempt, now: number): DrainEstimate {
  const running = [];
  for (const { attempt, begunAt, state } of run.attempts) {
    if (state.phase !== 'running') continue;
    const typicalMs = ctx.durations.typicalMs(typeKey(attempt.type, attempt.schemaVersion));
    running.push({ runningMs: begunAt === undefined ? 0 : now - begunAt, typicalMs });
  }
  const { drainUntil, settings } = ctx;
  return estimateDrain(
    running,
    drainUntil === undefined ? settings.drainTimeoutMs : drainUntil - now,
  );
}
