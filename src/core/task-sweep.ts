import { effectMayBe, gatePassed } from './effect-safety.ts';
import {
  type AttemptState,
  type Change,
  deadlinePassed,
  isCurrent,
  type TaskState,
} from './task.ts';
import { deadlineError, endAttempt } from './task-end.ts';

/** What happens by itself when time passes: leases end, queues run out. */

/**
 * Whether nobody else could run the task if this attempt ended now: then its word is waited for
 * `lostGraceMs` longer (contract 1.23), because a finished result on its way is worth more than a quick verdict.
 */
export function onlyItsWordHelps(task: TaskState, attempt: AttemptState): boolean {
  if (gatePassed(attempt)) return true;
  return (
    !task.cancelRequested && attempt.countedAtMs !== undefined && task.attempts >= task.permitted
  );
}

/** When the sweeper has to look at the task next; `undefined`: never by itself. */
export function dueAtMs(task: TaskState, attempt: AttemptState | undefined): number | undefined {
  if (task.status === 'running' && attempt)
    return attempt.leaseUntilMs + (onlyItsWordHelps(task, attempt) ? task.policy.lostGraceMs : 0);
  if (task.status !== 'queued') return undefined;
  const { queueTimeoutMs } = task.policy;
  const timeout =
    queueTimeoutMs === null
      ? Number.POSITIVE_INFINITY
      : Math.max(task.queuedAtMs, task.notBeforeMs ?? 0) + queueTimeoutMs;
  const due = Math.min(timeout, task.deadlineMs ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(due) ? due : undefined;
}

/** Ends what is due; `undefined` if nothing is. @param chance in [0, 1). */
export function sweepTask(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState | undefined,
  chance: number,
): Change | undefined {
  const due = dueAtMs(task, attempt);
  if (due === undefined || nowMs < due) return undefined;
  if (attempt && isCurrent(task, attempt)) {
    const done = endAttempt(nowMs, task, attempt, {
      happened: 'no-word',
      state: 'lost',
      kind: 'lost',
      by: 'sweeper',
      counting: 'as-recorded',
      data: {
        reason: 'lease',
        workerId: attempt.workerId,
        leaseRanOutAt: new Date(attempt.leaseUntilMs).toISOString(),
      },
      chance,
    });
    return { ...done, verdict: { ok: true } };
  }
  const ended = deadlinePassed(nowMs, task)
    ? deadlineError(task)
    : {
        code: 'QUEUE_TIMEOUT',
        message: `No worker took the task within its queueTimeoutMs of ${task.policy.queueTimeoutMs}.`,
        retryable: false,
      };
  const error = effectMayBe(task.error) ? { ...ended, effect: 'begun' } : ended;
  return {
    task: { ...task, status: 'expired', finishedAtMs: nowMs, error },
    events: [{ kind: 'expired', by: 'sweeper', data: { code: error.code, status: 'expired' } }],
    verdict: { ok: true },
  };
}
