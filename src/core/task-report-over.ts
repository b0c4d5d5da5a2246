import type { Report, TaskFailure } from '../contract/index.ts';
import { effectMayBe, gatePassed, notCalled } from './effect-safety.ts';
import { type AttemptState, type Change, refuse, type TaskState } from './task.ts';
import type { ReportFacts } from './task-report.ts';

/** Reports on an attempt that has ended: replays (contract 1.15–1.18), late reports and refusals (1.22–1.27). */

/** 1.15, 1.26: the same body by the holder gets its first answer again, a recorded one too. */
export function findReplay(attempt: AttemptState, op: string, hash: string): Change | undefined {
  if (attempt.end?.op === op && attempt.end.hash === hash)
    return { events: [], verdict: { ok: true, replayed: true } };
  if (attempt.late?.op === op && attempt.late.hash === hash) {
    return refuse('STALE_ATTEMPT', lateDetail(attempt), { recorded: true, replayed: true });
  }
  return undefined;
}

const lateDetail = (attempt: AttemptState) =>
  `Attempt ${attempt.id} had already ended as lost. Its outcome is kept as a late report; an operator can take it.`;

/** 1.24: while a lost attempt is still the latest and no operator acted, its first outcome is recorded. */
export function lateReportOpen(task: TaskState, attempt: AttemptState): boolean {
  return (
    attempt.state === 'lost' &&
    task.attemptId === attempt.id &&
    attempt.fence > task.operatorFence &&
    attempt.late === undefined
  );
}

export function afterTheEnd(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState,
  report: Report,
  facts: ReportFacts,
): Change {
  const open = lateReportOpen(task, attempt);
  if (open && (report.op === 'complete' || report.op === 'fail' || report.op === 'unknown'))
    return recordLate(nowMs, task, attempt, report, facts);
  const over = `Attempt ${attempt.id} of task ${task.id} is over (${attempt.state}); the task is ${task.status}.`;
  if (open)
    return refuse(
      'LEASE_EXPIRED',
      `${over} Its lease ran out and it was ended as lost${report.op === 'lost' ? '' : '; an outcome is still taken'}.`,
    );
  const spoke = attempt.state !== 'lost' || attempt.late !== undefined;
  if (report.op === 'renew' && spoke)
    return refuse(
      'LEASE_EXPIRED',
      `${over} There is nothing left to renew; the report that ended it, sent again, gets its own answer.`,
    );
  return refuse('STALE_ATTEMPT', over);
}

function recordLate(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState,
  report: Extract<Report, { op: 'complete' | 'fail' | 'unknown' }>,
  facts: ReportFacts,
): Change {
  const uncalled = report.op === 'fail' && notCalled(attempt, report.begun);
  // Of an attempt before this one, or not to be told apart from it.
  const earlier = task.operatorFence > 0 && effectMayBe(task.error);
  const error =
    report.op === 'complete'
      ? undefined
      : {
          ...plainError(report.error),
          ...(uncalled ? { begun: false } : {}),
          ...(earlier || (gatePassed(attempt) && !uncalled) ? { effect: 'begun' } : {}),
          attempt: attempt.number,
        };
  return {
    task: {
      ...task,
      lateReport: {
        op: report.op,
        atMs: nowMs,
        ...(report.op === 'complete' && facts.valueJson !== undefined
          ? { resultJson: facts.valueJson }
          : {}),
        ...(error ? { error } : {}),
      },
    },
    attempt: { ...attempt, late: { op: report.op, hash: facts.hash } },
    events: [
      {
        kind: 'late-report',
        attemptId: attempt.id,
        fence: attempt.fence,
        by: `worker:${attempt.workerId}`,
        data: {
          op: report.op,
          ...(error ? { code: error.code, message: error.message } : {}),
          ...(uncalled ? { begun: false } : {}),
        },
      },
    ],
    verdict: {
      ok: false,
      code: 'STALE_ATTEMPT',
      detail: lateDetail(attempt),
      more: { recorded: true },
    },
  };
}

export function plainError(error: TaskFailure): {
  code: string;
  message: string;
  retryable: boolean;
  details?: Record<string, unknown>;
} {
  return {
    code: error.code,
    message: error.message,
    retryable: error.retryable,
    ...(error.details === undefined ? {} : { details: { ...error.details } }),
  };
}
