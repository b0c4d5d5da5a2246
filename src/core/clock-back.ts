import type { AttemptState, TaskState } from './task.ts';

/**
 * What a control plane makes of instants that lie ahead of its clock when it starts. They can only have been stored by a
 * clock that was set back since. `notBeforeAt` and `deadlineAt` are the producer's and stay as they are.
 */

/**
 * A queued task from a clock ahead: it was queued now at the latest, and what was left of its backoff then is left now.
 * @returns `backMs`: at least so far went the clock back. `undefined`: nothing of the task lies ahead, or only its `notBeforeAt`.
 */
export function queuedAhead(
  nowMs: number,
  task: TaskState,
): { readonly backMs: number; readonly task: TaskState } | undefined {
  const { queuedAtMs, availableAtMs, notBeforeMs } = task;
  if (task.status !== 'queued' || queuedAtMs <= nowMs || queuedAtMs === notBeforeMs)
    return undefined;
  const backMs = queuedAtMs - nowMs;
  const sooner = Math.max(availableAtMs - backMs, notBeforeMs ?? nowMs);
  return {
    backMs,
    task: { ...task, queuedAtMs: nowMs, availableAtMs: Math.min(availableAtMs, sooner) },
  };
}

/** A whole lease from now, and no later beginning than now: `attemptTimeoutMs` is counted from it. */
export function leaseAnew(nowMs: number, attempt: AttemptState): AttemptState {
  const { countedAtMs } = attempt;
  return {
    ...attempt,
    // Not "at least": after a clock that ran ahead, a lease from then would last too long.
    leaseUntilMs: nowMs + attempt.leaseMs,
    countedAtMs: countedAtMs === undefined ? undefined : Math.min(countedAtMs, nowMs),
  };
}
