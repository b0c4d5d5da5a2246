import type { EventKind, Report, TaskFailure } from '../contract/index.ts';
import { gatePassed, notCalled } from './effect-safety.ts';
import {
  type AttemptPhase,
  type AttemptState,
  type Change,
  refuse,
  type TaskState,
  wantsStop,
} from './task.ts';
import { type Ending, endAttempt } from './task-end.ts';
import type { ReportFacts } from './task-report.ts';
import { carriedStart } from './task-report-alive.ts';
import { plainError } from './task-report-over.ts';

/** Reports that end the current attempt, as the effect-safety table takes them. */

type Terminal = Extract<
  Report,
  { op: 'complete' | 'fail' | 'unknown' | 'cancelled' | 'lost' | 'release' }
>;

export function terminal(
  nowMs: number,
  taskBefore: TaskState,
  attemptBefore: AttemptState,
  report: Terminal,
  facts: ReportFacts,
): Change {
  const start = 'start' in report ? report.start : undefined;
  const first = carriedStart(nowMs, taskBefore, attemptBefore, start);
  const { task, attempt } = first;
  if (report.op === 'release' && gatePassed(attempt)) {
    return refuse(
      'NOT_RELEASABLE',
      `Attempt ${attempt.id} is past its gate: its effect may have begun, so it cannot be given back.`,
    );
  }
  if (report.op === 'cancelled' && !wantsStop(nowMs, task)) {
    return refuse(
      'NOT_CANCELLING',
      `Nobody asked to cancel task ${task.id}, and it has not passed a deadline.`,
    );
  }
  const uncalled = report.op === 'fail' && notCalled(attempt, report.begun);
  const skipped =
    !uncalled &&
    (report.op === 'complete' || report.op === 'fail') &&
    attempt.effectSafety === 'non-idempotent' &&
    !attempt.startAccepted;
  const ending = endingOf(report, facts);
  const done = endAttempt(nowMs, task, attempt, {
    ...ending,
    ...(uncalled && { notCalled: true, error: { ...plainError(report.error), begun: false } }),
    by: `worker:${attempt.workerId}`,
    data: {
      ...ending.data,
      ...(skipped ? { gateSkipped: true } : {}),
      ...(uncalled ? { begun: false } : {}),
    },
    report: { op: report.op, hash: facts.hash },
    chance: facts.chance,
  });
  return { ...done, events: [...first.events, ...done.events], verdict: { ok: true } };
}

type Said = Pick<
  Ending,
  | 'happened'
  | 'state'
  | 'kind'
  | 'data'
  | 'counting'
  | 'resultJson'
  | 'error'
  | 'retryAfterMs'
  | 'atOnce'
>;

function endingOf(report: Terminal, facts: ReportFacts): Said {
  switch (report.op) {
    case 'complete':
      return {
        happened: 'result',
        ...outcome('succeeded', 'succeeded'),
        data: {},
        resultJson: facts.valueJson ?? 'null',
      };
    case 'fail':
      return {
        happened: report.error.retryable ? 'retryable-failure' : 'failure',
        ...outcome('failed', 'failed'),
        data: errorData(report.error),
        error: plainError(report.error),
        ...(report.error.retryAfterMs === undefined
          ? {}
          : { retryAfterMs: report.error.retryAfterMs }),
      };
    case 'unknown':
      return {
        happened: 'unknown',
        ...outcome('unknown', 'unknown'),
        data: errorData(report.error),
        error: plainError(report.error),
      };
    case 'cancelled':
      return {
        happened: 'obeyed',
        state: 'cancelled',
        kind: 'cancelled',
        counting: 'as-recorded',
        data: words(report),
      };
    case 'lost':
      return {
        happened: 'no-word',
        state: 'lost',
        kind: 'lost',
        counting:
          report.reason === 'drain' ? 'undelivered' : report.begun ? 'counts' : 'as-recorded',
        data: {
          reason: report.reason,
          begun: report.begun,
          ...(report.killed ? { killed: true } : {}),
          ...words(report),
        },
      };
    case 'release':
      return {
        happened: 'released',
        state: 'released',
        kind: 'released',
        counting: 'undelivered',
        atOnce: report.reason === 'drain',
        data: { reason: report.reason, ...words(report) },
      };
  }
}

const outcome = (state: AttemptPhase, kind: EventKind) => ({
  state,
  kind,
  counting: 'counts' as const,
});

function words(report: {
  readonly message?: string | undefined;
  readonly details?: Record<string, unknown> | undefined;
}): Record<string, unknown> {
  return {
    ...(report.message === undefined ? {} : { message: report.message }),
    ...(report.details === undefined ? {} : { details: report.details }),
  };
}

function errorData(error: TaskFailure): Record<string, unknown> {
  return { code: error.code, message: error.message, retryable: error.retryable };
}
