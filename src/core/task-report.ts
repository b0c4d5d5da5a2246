/**
 * A worker's report on an attempt (contract, rules 3 to 5). The order of the checks is the model's:
 * identity → replay of a terminal report → current and unended → what an ended attempt may still say.
 */
import type { EventKind, Report, TaskFailure } from '../contract/index.ts';
import { terminalOps } from '../contract/worker-calls.ts';
import { taskDefaults } from './defaults.ts';
import { gatePassed } from './effect-safety.ts';
import {
  type AttemptPhase,
  type AttemptState,
  type Change,
  isCurrent,
  type NewEvent,
  refuse,
  type TaskState,
  wantsStop,
} from './task.ts';
import { type Ending, endAttempt } from './task-end.ts';

export interface ReportFacts {
  /** Whether `leaseToken` is the one of this attempt (compared in constant time by the caller). */
  readonly tokenFits: boolean;
  /** Hash of the canonical body with `op` and `attemptId`, the same on both routes. */
  readonly hash: string;
  /** What the session of a `start` or `effect` is to its worker id. */
  readonly session?: 'current' | 'superseded' | 'unknown';
  /** JSON text of `result` or of `checkpoint`. */
  readonly valueJson?: string;
  /** In [0, 1). */
  readonly chance: number;
}

export function applyReport(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState,
  report: Report,
  facts: ReportFacts,
): Change {
  if (report.taskId !== attempt.taskId || report.fence !== attempt.fence || !facts.tokenFits) {
    return refuse(
      'STALE_ATTEMPT',
      `The report does not carry the task id, fence and lease token of attempt ${attempt.id}.`,
    );
  }
  if (terminalOps.has(report.op)) {
    const replay = findReplay(attempt, report.op, facts.hash);
    if (replay) return replay;
  }
  if (!isCurrent(task, attempt)) return afterTheEnd(nowMs, task, attempt, report, facts);
  switch (report.op) {
    case 'renew':
      return renewal(nowMs, task, attempt);
    case 'start':
    case 'effect':
      return gate(nowMs, task, attempt, report.op, facts);
    case 'progress':
    case 'log':
      return word(nowMs, task, attempt, report, facts);
    default:
      return terminal(nowMs, task, attempt, report, facts);
  }
}

/** Rule 4: the same body by the holder gets its first answer again, a recorded one too. */
function findReplay(attempt: AttemptState, op: string, hash: string): Change | undefined {
  if (attempt.end?.op === op && attempt.end.hash === hash)
    return { events: [], verdict: { ok: true, replayed: true } };
  if (attempt.late?.op === op && attempt.late.hash === hash) {
    return refuse('STALE_ATTEMPT', lateDetail(attempt), { recorded: true, replayed: true });
  }
  return undefined;
}

const lateDetail = (attempt: AttemptState) =>
  `Attempt ${attempt.id} had already ended as lost. Its outcome is kept as a late report; an operator can take it.`;

/** Rule 5: while a lost attempt is still the latest and no operator acted, its first outcome is recorded. */
export function lateReportOpen(task: TaskState, attempt: AttemptState): boolean {
  return (
    attempt.state === 'lost' &&
    task.attemptId === attempt.id &&
    attempt.fence > task.operatorFence &&
    attempt.late === undefined
  );
}

function afterTheEnd(
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
      `${over} Its lease ran out and it was ended as lost; an outcome is still taken.`,
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
  const error =
    report.op === 'complete'
      ? undefined
      : {
          ...plainError(report.error),
          ...(gatePassed(attempt) ? { effect: 'begun' } : {}),
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
        data: { op: report.op, ...(error ? { code: error.code, message: error.message } : {}) },
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

/** Any accepted report but a terminal one renews, and is told the length and whether to stop. */
function renewed(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState,
  events: readonly NewEvent[] = [],
  replayed = false,
): Change {
  return {
    task,
    attempt: { ...attempt, leaseUntilMs: nowMs + attempt.leaseMs },
    events,
    verdict: {
      ok: true,
      leaseMs: attempt.leaseMs,
      cancelRequested: wantsStop(nowMs, task),
      ...(replayed ? { replayed } : {}),
    },
  };
}

function renewal(nowMs: number, task: TaskState, attempt: AttemptState): Change {
  return pastTimeout(nowMs, task, attempt) ?? renewed(nowMs, task, attempt);
}

/** A worker that lets a handler run far beyond its timeout is not believed any more. */
function pastTimeout(nowMs: number, task: TaskState, attempt: AttemptState): Change | undefined {
  const { attemptTimeoutMs } = task.policy;
  if (attemptTimeoutMs === null || attempt.countedAtMs === undefined) return undefined;
  if (nowMs <= attempt.countedAtMs + attemptTimeoutMs + taskDefaults.renewPastTimeoutMs)
    return undefined;
  return refuse(
    'LEASE_EXPIRED',
    `Attempt ${attempt.id} has run ${Math.round((nowMs - attempt.countedAtMs) / 1000)} s, beyond its attemptTimeoutMs of ${attemptTimeoutMs}; it is not renewed any more.`,
  );
}

function gate(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState,
  op: 'start' | 'effect',
  facts: ReportFacts,
): Change {
  if (facts.session === 'superseded')
    return refuse(
      'SESSION_SUPERSEDED',
      `Another process has taken over worker id ${attempt.workerId}.`,
    );
  if (facts.session !== 'current')
    return refuse('STALE_ATTEMPT', `Attempt ${attempt.id} belongs to another session.`);
  const isGate = attempt.effectSafety === 'non-idempotent' && attempt.effectGate === op;
  if (isGate && nowMs >= attempt.leaseUntilMs) {
    return refuse(
      'LEASE_EXPIRED',
      `The lease of attempt ${attempt.id} ran out ${nowMs - attempt.leaseUntilMs} ms ago: renew it, then ask again.`,
    );
  }
  const already = op === 'start' ? attempt.startAccepted : attempt.effectAccepted;
  if (already) return renewed(nowMs, task, attempt, [], true);
  const first = counts(nowMs, task, attempt, op);
  const events = [...first.events];
  if (op === 'effect') events.push(said(attempt, 'effect-begun', {}));
  return renewed(
    nowMs,
    first.task,
    {
      ...first.attempt,
      startAccepted: true,
      effectAccepted: attempt.effectAccepted || op === 'effect',
    },
    events,
  );
}

function word(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState,
  report: Extract<Report, { op: 'progress' | 'log' }>,
  facts: ReportFacts,
): Change {
  const late = pastTimeout(nowMs, task, attempt);
  if (late) return late;
  const lastN = report.op === 'progress' ? attempt.progressN : attempt.logN;
  if (report.n <= lastN) return renewed(nowMs, task, attempt, [], true);
  const first = counts(nowMs, task, attempt, report.op);
  if (report.op === 'log')
    return renewed(nowMs, first.task, { ...first.attempt, logN: report.n }, first.events);
  const next: TaskState = {
    ...first.task,
    checkpointJson: facts.valueJson ?? first.task.checkpointJson,
    progress: {
      ...(report.percent === undefined ? {} : { percent: report.percent }),
      ...(report.message === undefined ? {} : { message: report.message }),
      atMs: nowMs,
    },
  };
  return renewed(nowMs, next, { ...first.attempt, progressN: report.n }, first.events);
}

/** The first report that counts makes the attempt `started` and the task's attempts one more. */
function counts(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState,
  via: string,
): { task: TaskState; attempt: AttemptState; events: readonly NewEvent[] } {
  if (attempt.countedAtMs !== undefined) return { task, attempt, events: [] };
  return {
    task: { ...task, attempts: task.attempts + 1, startedAtMs: task.startedAtMs ?? nowMs },
    attempt: { ...attempt, state: 'started', countedAtMs: nowMs },
    events: [said(attempt, 'started', via === 'start' ? {} : { via })],
  };
}

function said(attempt: AttemptState, kind: EventKind, data: Record<string, unknown>): NewEvent {
  return {
    kind,
    attemptId: attempt.id,
    fence: attempt.fence,
    by: `worker:${attempt.workerId}`,
    data,
  };
}

type Terminal = Extract<
  Report,
  { op: 'complete' | 'fail' | 'unknown' | 'cancelled' | 'lost' | 'release' }
>;

function terminal(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState,
  report: Terminal,
  facts: ReportFacts,
): Change {
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
  const skipped =
    (report.op === 'complete' || report.op === 'fail') &&
    attempt.effectSafety === 'non-idempotent' &&
    !attempt.startAccepted;
  const ending = endingOf(report, facts);
  const done = endAttempt(nowMs, task, attempt, {
    ...ending,
    by: `worker:${attempt.workerId}`,
    data: { ...ending.data, ...(skipped ? { gateSkipped: true } : {}) },
    report: { op: report.op, hash: facts.hash },
    chance: facts.chance,
  });
  return { ...done, verdict: { ok: true } };
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

function plainError(error: TaskFailure): {
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
