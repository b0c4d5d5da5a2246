import type { EffectGate, EffectSafety } from '../contract/index.ts';
import { limits } from '../contract/limits.ts';
import { taskDefaults } from './defaults.ts';
import { hostFault } from './host-reason.ts';
import { type AttemptState, type Change, refuse, type TaskState } from './task.ts';
import { dueAtMs } from './task-sweep.ts';

export interface Claim {
  readonly attemptId: string;
  readonly workerId: string;
  readonly sessionId: string;
  readonly effectSafety: EffectSafety;
  readonly effectGate: EffectGate;
  readonly leaseMs: number;
}

/** Whether a claim may have the task now. */
export function claimable(nowMs: number, task: TaskState): boolean {
  return (
    task.status === 'queued' &&
    task.availableAtMs <= nowMs &&
    // Its deadline or queueTimeoutMs may have passed although the sweeper has not been here yet.
    nowMs < (dueAtMs(task, undefined) ?? Number.POSITIVE_INFINITY)
  );
}

/**
 * Whether it has just failed on this worker for a reason of that host, so that another worker which waits for such tasks
 * should have it first. For a moment only: a worker that waits may yet not come.
 */
export function betterElsewhere(nowMs: number, task: TaskState, workerId: string): boolean {
  return (
    task.workerId === workerId &&
    task.error !== undefined &&
    nowMs - task.availableAtMs < taskDefaults.elsewhereMs &&
    hostFault(task.error) !== undefined
  );
}

/** Gives the task to a worker: a new attempt, its fence one above the last. */
export function claimTask(nowMs: number, task: TaskState, claim: Claim): Change {
  if (!claimable(nowMs, task))
    return refuse('CONFLICT', `Task ${task.id} is ${task.status} and cannot be claimed.`);
  const fence = task.fence + 1;
  const attempt: AttemptState = {
    id: claim.attemptId,
    taskId: task.id,
    project: task.project,
    fence,
    number: task.attempts + 1,
    workerId: claim.workerId,
    sessionId: claim.sessionId,
    effectSafety: claim.effectSafety,
    effectGate: claim.effectGate,
    leaseMs: claim.leaseMs,
    leaseUntilMs: nowMs + claim.leaseMs,
    state: 'leased',
    claimedAtMs: nowMs,
    startAccepted: false,
    effectAccepted: false,
    progressN: 0,
    logN: 0,
  };
  return {
    task: {
      ...task,
      status: 'running',
      fence,
      attemptId: attempt.id,
      workerId: claim.workerId,
      progress: undefined,
      lateReport: undefined,
    },
    attempt,
    events: [
      {
        kind: 'leased',
        attemptId: attempt.id,
        fence,
        by: `worker:${claim.workerId}`,
        data: {
          workerId: claim.workerId,
          attempt: attempt.number,
          leaseMs: attempt.leaseMs,
          effectSafety: claim.effectSafety,
          effectGate: claim.effectGate,
        },
      },
    ],
    verdict: { ok: true, leaseMs: attempt.leaseMs },
  };
}

export interface LeaseLimits {
  readonly min: number;
  readonly default: number;
  readonly max: number;
}

/** `min(claim.leaseMs, policy.leaseMs)` within the limits. */
export function leaseLength(
  policyMs: number,
  claimMs: number | undefined,
  bounds: LeaseLimits = limits.leaseMs,
): number {
  return Math.min(Math.max(Math.min(claimMs ?? policyMs, policyMs), bounds.min), bounds.max);
}
