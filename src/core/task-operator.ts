import type { CancelRequest, ResolveRequest, RetryRequest } from '../contract/index.ts';
import { terminalStatuses } from '../contract/tasks.ts';
import { effectMayBe } from './effect-safety.ts';
import { RESOLVED_FAILED } from './failures.ts';
import { type Change, refuse, type TaskState } from './task.ts';

/** What people ask for: cancel, retry, resolve. They add entries to the journal and rewrite none. */

/** A queued task ends at once; a running one is asked to stop, and its worker answers. */
export function cancelTask(
  nowMs: number,
  task: TaskState,
  request: Pick<CancelRequest, 'reason' | 'ifSeq'>,
  by: string,
): Change {
  if (request.ifSeq !== undefined && task.operatorSeq > request.ifSeq) {
    return refuse(
      'CONFLICT',
      `An operator acted on task ${task.id} after you looked (entry ${task.operatorSeq}); the cancel was meant for what it was before.`,
      { seq: task.seq },
    );
  }
  if (terminalStatuses.has(task.status))
    return refuse('TASK_TERMINAL', `Task ${task.id} has already ended: ${task.status}.`, {
      seq: task.seq,
    });
  const data = request.reason === undefined ? {} : { reason: request.reason };
  if (task.status === 'queued') {
    return {
      task: {
        ...task,
        status: 'cancelled',
        cancelRequested: true,
        cancelReason: request.reason,
        finishedAtMs: nowMs,
      },
      events: [{ kind: 'cancelled', by, data: { ...data, status: 'cancelled' } }],
      verdict: { ok: true },
    };
  }
  if (task.cancelRequested) return { events: [], verdict: { ok: true, replayed: true } };
  return {
    task: { ...task, cancelRequested: true, cancelReason: request.reason },
    events: [{ kind: 'cancel-requested', by, data }],
    verdict: { ok: true },
  };
}

const retryable: ReadonlySet<string> = new Set(['failed', 'expired', 'cancelled']);

/** Puts a failed, expired or cancelled task back into the queue. */
export function retryTask(
  nowMs: number,
  task: TaskState,
  request: RetryRequest,
  by: string,
): Change {
  const moved = otherSeq(task, request.ifSeq);
  if (moved) return moved;
  if (!retryable.has(task.status)) {
    const unknown = task.status === 'outcome-unknown';
    const why = unknown
      ? 'Its outcome is unknown: look at the outside world, then resolve it.'
      : 'Only a failed, expired or cancelled task can be retried.';
    return refuse('CONFLICT', `Task ${task.id} is ${task.status}. ${why}`, {
      seq: task.seq,
      ...(unknown && {
        hint: `Look whether the effect took place, then: interlock tasks resolve ${task.id} --as succeeded --reason "…" (or --as failed, or --as retry).`,
      }),
    });
  }
  const begun = effectMayBe(task.error);
  if (begun && request.acceptRepeatedEffect !== true) {
    return refuse(
      'CONFLICT',
      `Task ${task.id} ended after its effect had begun; a retry may repeat the effect. That has to be accepted (acceptRepeatedEffect).`,
      {
        seq: task.seq,
        hint: `If a second effect is fine: interlock tasks retry ${task.id} --reason "…" --accept-repeated-effect.`,
      },
    );
  }
  return {
    // It was accepted once: what comes of this attempt is no leave for the next.
    task: { ...requeued(nowMs, task, request.attempts), ...(begun && { error: task.error }) },
    events: [
      {
        kind: 'retried',
        by,
        data: {
          reason: request.reason,
          attempts: request.attempts,
          status: 'queued',
          ...(request.acceptRepeatedEffect ? { acceptRepeatedEffect: true } : {}),
        },
      },
    ],
    verdict: { ok: true },
  };
}

/** Says what became of a task whose outcome is unknown, or takes a late report. */
export function resolveTask(
  nowMs: number,
  task: TaskState,
  request: ResolveRequest,
  by: string,
  resultJson: string,
): Change {
  const moved = otherSeq(task, request.ifSeq);
  if (moved) return moved;
  const { resolution, reason } = request;
  const takesLate =
    resolution === 'late-report' &&
    (task.status === 'failed' || task.status === 'queued' || task.status === 'expired');
  if (task.status !== 'outcome-unknown' && !takesLate) {
    return refuse(
      'CONFLICT',
      `Task ${task.id} is ${task.status}; only a task with status outcome-unknown can be resolved as ${resolution}.`,
      { seq: task.seq },
    );
  }
  const done = {
    ...task,
    finishedAtMs: nowMs,
    cancelRequested: false,
    operatorFence: task.fence,
    lateReport: undefined,
  };
  const event = (status: string, more: Record<string, unknown> = {}) => [
    { kind: 'resolved' as const, by, data: { resolution, reason, status, ...more } },
  ];
  switch (resolution) {
    case 'succeeded':
      return {
        task: withSeq({ ...done, status: 'succeeded', resultJson, error: undefined }),
        events: event('succeeded'),
        verdict: { ok: true },
      };
    case 'failed': {
      // Somebody looked, and there was no effect: what the attempt may have done is no longer open. The journal keeps it.
      const error = {
        code: RESOLVED_FAILED,
        message: `An operator resolved the task as failed: ${reason}`,
        retryable: false,
        ...(task.error?.attempt !== undefined && { attempt: task.error.attempt }),
      };
      return {
        task: withSeq({ ...done, status: 'failed', error }),
        events: event('failed'),
        verdict: { ok: true },
      };
    }
    case 'retry':
      return {
        task: requeued(nowMs, { ...task, lateReport: undefined }, 1),
        events: event('queued'),
        verdict: { ok: true },
      };
    case 'late-report': {
      const late = task.lateReport;
      if (!late)
        return refuse('CONFLICT', `The latest attempt of task ${task.id} has no late report.`, {
          seq: task.seq,
        });
      const status =
        late.op === 'complete' ? 'succeeded' : late.op === 'fail' ? 'failed' : 'outcome-unknown';
      return {
        task: withSeq({ ...done, status, resultJson: late.resultJson, error: late.error }),
        events: event(status, { op: late.op }),
        verdict: { ok: true },
      };
    }
  }
}

function otherSeq(task: TaskState, ifSeq: number): Change | undefined {
  if (task.seq === ifSeq) return undefined;
  return refuse(
    'CONFLICT',
    `Task ${task.id} is at entry ${task.seq}, not ${ifSeq}: it changed since you looked.`,
    { seq: task.seq },
  );
}

function requeued(nowMs: number, task: TaskState, attempts: number): TaskState {
  const passed = task.deadlineMs !== undefined && nowMs >= task.deadlineMs;
  return withSeq({
    ...task,
    status: 'queued',
    cancelRequested: false,
    cancelReason: undefined,
    undelivered: 0,
    permitted: task.permitted + attempts,
    deadlineMs: passed ? undefined : task.deadlineMs,
    policy: passed ? { ...task.policy, deadlineAt: null } : task.policy,
    finishedAtMs: undefined,
    resultJson: undefined,
    error: undefined,
    lateReport: undefined,
    queuedAtMs: nowMs,
    // An operator's retry lifts a passed deadline, not the producer's `notBeforeAt`.
    availableAtMs: Math.max(nowMs, task.notBeforeMs ?? nowMs),
    operatorFence: task.fence,
  });
}

/** The one entry that these commands add gets the next `seq`. */
function withSeq(task: TaskState): TaskState {
  return { ...task, operatorSeq: task.seq + 1 };
}
