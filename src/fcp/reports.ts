/**
 * The answer to one report, in the contract's order (rules 3 to 5): shape, attempt, fence and token, session, replay,
 * current and unended, gate. A terminal report ends the attempt; everything else that is accepted renews it.
 */
import { type AnswerBody, invalid, type JsonAnswer, ok, problem } from './answers.ts';
import {
  type Attempt,
  type AttemptState,
  alive,
  gateOf,
  gatePassed,
  renewLease,
} from './attempts.ts';
import type { Report } from './journal.ts';
import { faultsOf } from './report-shapes.ts';
import { type Sessions, superseded } from './sessions.ts';

export interface ReportRules {
  project: string;
  features: string[];
  inlineBytes: number;
  checkpointBytes: number;
  sessions: Sessions;
}

/** The terminal ops and the state that each ends in. */
export const ENDS: Record<string, AttemptState> = {
  complete: 'succeeded',
  fail: 'failed',
  unknown: 'unknown',
  cancelled: 'cancelled',
  lost: 'lost',
  release: 'released',
};
/** Ops that tell an outcome, which is recorded even of an attempt that was lost. */
const OUTCOMES = ['complete', 'fail', 'unknown'];
export const OPS = ['renew', 'start', 'effect', 'progress', 'log', 'stream', ...Object.keys(ENDS)];

/** Decides about a report and carries the decision out on the attempt. */
export function judge(
  report: Report,
  attempt: Attempt | undefined,
  rules: ReportRules,
): JsonAnswer {
  const { op, body } = report;
  if (!OPS.includes(op) || (op === 'stream' && !rules.features.includes('stream'))) {
    return problem(400, 'UNSUPPORTED_OPERATION', `"${op}" is no operation of this control plane`);
  }
  const issues = faultsOf(report);
  if (issues.length > 0) return invalid(issues);
  if (!attempt) {
    const extra = { kind: 'attempt', project: rules.project };
    return problem(404, 'NOT_FOUND', `attempt ${report.attemptId} is not known`, extra);
  }
  const { task, fence, leaseToken } = attempt;
  const same =
    body.taskId === task.taskId && body.fence === fence && body.leaseToken === leaseToken;
  if (!same) return stale('task, fence or token are not those of the attempt');
  const foreign = otherSession(report, attempt, rules.sessions);
  if (foreign) return foreign;
  const replay = replayed(report, attempt);
  if (replay) return replay;
  const current = task.attempts.at(-1) === attempt;
  if (!current || !alive(attempt)) return ended(report, attempt, current);
  const tooLarge = tooMuch(report, rules);
  if (tooLarge) return tooLarge;
  return op in ENDS ? end(report, attempt) : goOn(report, attempt);
}

/** `start` and `effect` come from the session that claimed, alone. */
function otherSession(
  report: Report,
  attempt: Attempt,
  sessions: Sessions,
): JsonAnswer | undefined {
  const { op, body } = report;
  if (op !== 'start' && op !== 'effect') return undefined;
  const worker = sessions.worker(attempt.workerId);
  if (worker.superseded.has(body.sessionId ?? '')) return superseded(attempt.workerId);
  if (body.sessionId === attempt.sessionId) return undefined;
  return stale('the attempt belongs to another session');
}

function replayed(report: Report, attempt: Attempt): JsonAnswer | undefined {
  const first = [attempt.outcome, attempt.late].find(
    (earlier) => earlier && canonical(earlier) === canonical(report),
  );
  if (!first?.answer) return undefined;
  const { status, body } = first.answer;
  const { headers } = status === 200 ? ok({}) : problem(status, '', '');
  return { status, body: { ...body, replayed: true }, headers };
}

function ended(report: Report, attempt: Attempt, current: boolean): JsonAnswer {
  const expired = problem(409, 'LEASE_EXPIRED', 'the lease of this attempt has run out');
  const said = attempt.late ?? (attempt.state === 'lost' ? undefined : attempt.outcome);
  if (report.op === 'renew' && said) return expired;
  if (!current || attempt.state !== 'lost' || attempt.late) return stale('the attempt has ended');
  if (!OUTCOMES.includes(report.op)) return expired;
  attempt.late = report;
  return stale('the attempt was lost; what came late is kept', { recorded: true });
}

function tooMuch({ op, body }: Report, rules: ReportRules): JsonAnswer | undefined {
  const part = op === 'complete' ? body.result : body.checkpoint;
  const cap = op === 'complete' ? rules.inlineBytes : rules.checkpointBytes;
  if (part === undefined || Buffer.byteLength(JSON.stringify(part)) <= cap) return undefined;
  return problem(413, 'PAYLOAD_TOO_LARGE', `${op} holds more than ${cap} bytes`);
}

function end(report: Report, attempt: Attempt): JsonAnswer {
  const { op } = report;
  if (op === 'release' && gatePassed(attempt)) {
    return problem(409, 'NOT_RELEASABLE', 'the effect of this attempt may have begun');
  }
  if (op === 'cancelled' && !attempt.task.cancelRequested) {
    return problem(409, 'NOT_CANCELLING', 'no cancel was requested for this task');
  }
  renewLease(attempt);
  if (report.body.start !== undefined && OUTCOMES.includes(op) && gateOf(attempt) !== 'start')
    attempt.started = true;
  attempt.state = ENDS[op] ?? attempt.state;
  attempt.outcome = report;
  return accepted(report, attempt, {});
}

function goOn(report: Report, attempt: Attempt): JsonAnswer {
  const { op, body } = report;
  if (attempt.expired && op === gateOf(attempt)) {
    return problem(409, 'LEASE_EXPIRED', 'the lease has run out: renew it before the gate');
  }
  renewLease(attempt);
  const before = op === 'start' ? attempt.started : op === 'effect' && attempt.effectBegun;
  if (op === 'effect') attempt.effectBegun = true;
  if (op === 'start' || op === 'effect') attempt.started = true;
  if (op !== 'renew') attempt.state = 'started';
  if (op === 'progress' || op === 'log') {
    const fresh = (body.n ?? 0) > attempt.last[op];
    if (fresh) attempt.last[op] = body.n ?? 0;
    if (fresh && op === 'progress' && body.checkpoint !== undefined)
      attempt.checkpoint = body.checkpoint;
  }
  const cancel = attempt.task.cancelRequested ? { cancelRequested: true } : {};
  const replay = before ? { replayed: true } : {};
  return accepted(report, attempt, { leaseMs: attempt.leaseMs, ...cancel, ...replay });
}

function accepted({ op }: Report, { attemptId, fence }: Attempt, extra: AnswerBody): JsonAnswer {
  return ok({ accepted: true, attemptId, fence, op, ...extra });
}

function stale(why: string, extra: Record<string, unknown> = {}): JsonAnswer {
  return problem(409, 'STALE_ATTEMPT', why, extra);
}

/** The same text for the same report, on both routes; an outcome with its `start` and without it is the same. */
export function canonical({ op, attemptId, body }: Report): string {
  const { start, ...said } = body;
  const all = OUTCOMES.includes(op) ? said : body;
  return JSON.stringify(sorted({ ...all, op, attemptId }));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, item]) => [name, sorted(item)]),
  );
}
