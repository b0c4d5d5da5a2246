import type { EventKind, Report } from '../contract/index.ts';
import { taskDefaults } from './defaults.ts';
import {
  type AttemptState,
  type Change,
  type NewEvent,
  refuse,
  type TaskState,
  wantsStop,
} from './task.ts';
import type { ReportFacts } from './task-report.ts';

/** Reports that do not end an attempt: renew, start, effect, progress, log. */

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

export function renewal(nowMs: number, task: TaskState, attempt: AttemptState): Change {
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

export function gate(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState,
  report: Extract<Report, { op: 'start' | 'effect' }>,
  facts: ReportFacts,
): Change {
  if (facts.session === 'superseded')
    return refuse(
      'SESSION_SUPERSEDED',
      `Another worker has taken over worker id ${attempt.workerId}.`,
    );
  if (facts.session !== 'current' || report.sessionId !== attempt.sessionId)
    return refuse('STALE_ATTEMPT', `Attempt ${attempt.id} belongs to another session.`);
  const late = pastTimeout(nowMs, task, attempt);
  if (late) return late;
  // An accepted `effect` implies `start`, so it passes a start gate too.
  const { op } = report;
  const isGate =
    attempt.effectSafety === 'non-idempotent' && (op === 'effect' || attempt.effectGate === op);
  if (isGate && nowMs >= attempt.leaseUntilMs) {
    return refuse(
      'LEASE_EXPIRED',
      `The lease of attempt ${attempt.id} ran out ${nowMs - attempt.leaseUntilMs} ms ago: renew it, then ask again.`,
    );
  }
  const already = op === 'start' ? attempt.startAccepted : attempt.effectAccepted;
  if (already) return renewed(nowMs, task, attempt, [], true);
  const first = counts(nowMs, task, attempt, op, codeOf(report));
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

/**
 * The `start` that an outcome carries (contract 4.45): as if it had come just before. Nothing of an attempt that has counted already,
 * and never the gate: that is opened before the effect, not told after it.
 */
export function carriedStart(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState,
  start: { readonly codeHash?: string | undefined } | undefined,
): ReturnType<typeof counts> {
  const isGate = attempt.effectSafety === 'non-idempotent' && attempt.effectGate === 'start';
  if (start === undefined || isGate) return { task, attempt, events: [] };
  const first = counts(nowMs, task, attempt, 'start', codeOf(start));
  return { ...first, attempt: { ...first.attempt, startAccepted: true } };
}

export function word(
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

function codeOf({ codeHash }: { readonly codeHash?: string | undefined }): Record<string, unknown> {
  return codeHash === undefined ? {} : { codeHash };
}

/** The first report that counts makes the attempt `started` and the task's attempts one more. */
function counts(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState,
  via: string,
  data: Record<string, unknown> = {},
): { task: TaskState; attempt: AttemptState; events: readonly NewEvent[] } {
  if (attempt.countedAtMs !== undefined) return { task, attempt, events: [] };
  return {
    task: { ...task, attempts: task.attempts + 1, startedAtMs: task.startedAtMs ?? nowMs },
    attempt: { ...attempt, state: 'started', countedAtMs: nowMs },
    events: [said(attempt, 'started', { ...(via === 'start' ? {} : { via }), ...data })],
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
