import type { WorkerContext } from './context.ts';
import type { RunAttempt } from './run-attempt.ts';

/** How the worker is, for people and programs on the same machine. */
export interface WorkerStatus {
  readonly workerId: string;
  readonly state: 'ready' | 'full' | 'draining' | 'stopped';
  /** In words: why nothing is claimed; absent while all is well. */
  readonly notClaiming?: string;
  readonly slots: { readonly max: number; readonly busy: number; readonly waiting: number };
  readonly hintsWork: boolean;
  /** Reports that are not answered yet. */
  readonly unanswered: number;
  readonly attempts: readonly {
    readonly taskId: string;
    readonly attemptId: string;
    readonly type: string;
    readonly schemaVersion: number;
    readonly phase: string;
    readonly leaseLeftMs: number;
    readonly pid?: number;
    /** Killed, but its process does not go. */
    readonly stuck: boolean;
  }[];
}

export function workerStatus(ctx: WorkerContext, run: RunAttempt): WorkerStatus {
  const { settings, ports } = ctx;
  const { held, waiting } = run.attempts.slots;
  const working = held >= settings.maxConcurrent ? 'full' : 'ready';
  const why = ctx.notClaiming;
  return {
    workerId: settings.workerId,
    state: ctx.stopped ? 'stopped' : ctx.draining ? 'draining' : working,
    ...(why === undefined ? {} : { notClaiming: why }),
    slots: { max: settings.maxConcurrent, busy: held, waiting },
    hintsWork: ctx.hintsWork,
    unanswered: run.reports.unanswered,
    attempts: [...run.attempts].map((one) => ({
      taskId: one.attempt.taskId,
      attemptId: one.attempt.attemptId,
      type: one.attempt.type,
      schemaVersion: one.attempt.schemaVersion,
      phase: one.state.phase,
      leaseLeftMs: Math.round(one.leaseUntil - ports.clock.now()),
      ...(one.job?.pid === undefined ? {} : { pid: one.job.pid }),
      stuck: one.state.stuck,
    })),
  };
}
