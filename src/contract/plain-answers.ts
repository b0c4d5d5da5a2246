import type { TaskView } from './tasks.ts';
import type { Attempt, ClaimAnswer, ReportAnswer } from './worker-calls.ts';

/**
 * The answers that come by the thousand, checked without a schema. Each takes what its schema takes and gives
 * what that gives, or says nothing (`undefined`): then the schema decides, and names what is wrong. All of them are given
 * what JSON.parse has made. `test/contract/plain-calls.test.ts` holds both against each other.
 */

type Parsed = Readonly<Record<string, unknown>>;

/** An answer of `reportAnswer`, as it came. */
export function plainReportAnswer(raw: unknown): ReportAnswer | undefined {
  if (!isObject(raw) || raw.accepted !== true) return undefined;
  const { attemptId, fence, op, leaseMs, cancelRequested, replayed } = raw;
  const fits =
    typeof attemptId === 'string' &&
    Number.isSafeInteger(fence) &&
    typeof op === 'string' &&
    (leaseMs === undefined || (isNumber(leaseMs) && leaseMs > 0)) &&
    isFlag(cancelRequested) &&
    isFlag(replayed);
  return fits ? (raw as unknown as ReportAnswer) : undefined;
}

/** An answer of `reportBatchAnswer`, as it came; its items are judged one by one. */
export function plainReportBatchAnswer(raw: unknown): { results: unknown[] } | undefined {
  if (!isObject(raw) || !Array.isArray(raw.results)) return undefined;
  for (const name in raw) if (name !== 'results') return undefined;
  return raw as { results: unknown[] };
}

/** An answer of `claimAnswer`, as it came; its attempts are judged one by one. */
export function plainClaimAnswer(raw: unknown): ClaimAnswer | undefined {
  if (!isObject(raw)) return undefined;
  const { attempts, pollAfterMs, serverTime, drain, waitedMs } = raw;
  const fits =
    Array.isArray(attempts) &&
    isNumber(pollAfterMs) &&
    (serverTime === undefined || typeof serverTime === 'string') &&
    typeof drain === 'boolean' &&
    (waitedMs === undefined || (isNumber(waitedMs) && waitedMs >= 0));
  return fits ? (raw as unknown as ClaimAnswer) : undefined;
}

/** One of `attempt`, as it came: with all that our own control plane says. */
export function plainAttempt(raw: unknown): Attempt | undefined {
  if (!isObject(raw)) return undefined;
  const { taskId, attemptId, leaseToken, leaseMs, labels } = raw;
  const fits =
    isName(taskId) &&
    isName(attemptId) &&
    isCount(raw.fence) &&
    isName(leaseToken) &&
    isNumber(leaseMs) &&
    leaseMs > 0 &&
    isCount(raw.attempt) &&
    typeof raw.type === 'string' &&
    Number.isSafeInteger(raw.schemaVersion) &&
    raw.input !== undefined &&
    typeof raw.effectKey === 'string' &&
    SAFETIES.has(raw.effectSafety) &&
    GATES.has(raw.effectGate) &&
    typeof raw.pool === 'string' &&
    (raw.traceparent === undefined || typeof raw.traceparent === 'string') &&
    typeof raw.cancelRequested === 'boolean';
  return fits && isLabels(labels) && isPolicy(raw.policy) ? (raw as unknown as Attempt) : undefined;
}

/** A view of `taskView`, as it came; one with progress, an error or a late report is for the schema. */
export function plainTaskView(raw: unknown): TaskView | undefined {
  if (!isObject(raw)) return undefined;
  const { progress, error, lateReport, cancelRequested } = raw;
  if (progress !== undefined || error !== undefined || lateReport !== undefined) return undefined;
  const fits =
    TEXTS.every((name) => typeof raw[name] === 'string') &&
    INTEGERS.every((name) => Number.isSafeInteger(raw[name])) &&
    TEXTS_OR_NONE.every((name) => raw[name] === undefined || typeof raw[name] === 'string') &&
    isFlag(cancelRequested) &&
    isLabels(raw.labels) &&
    isPolicy(raw.policy);
  return fits ? (raw as unknown as TaskView) : undefined;
}

const TEXTS = ['id', 'type', 'status', 'pool', 'effectKey', 'createdAt'] as const;
const INTEGERS = ['schemaVersion', 'priority', 'attempts', 'undelivered', 'seq'] as const;
const TEXTS_OR_NONE = [
  ...(['startedAt', 'finishedAt', 'worker', 'waitingFor', 'idempotencyKey'] as const),
  ...(['traceparent', 'notBeforeAt'] as const),
];

/** An answer of `batchAnswer`, as it came; its items are judged one by one. */
export function plainBatchAnswer(raw: unknown): { status: number; body: unknown }[] | undefined {
  if (!Array.isArray(raw)) return undefined;
  for (const item of raw) {
    if (!isObject(item) || !Number.isSafeInteger(item.status) || item.body === undefined)
      return undefined;
    for (const name in item) if (name !== 'status' && name !== 'body') return undefined;
  }
  return raw;
}

const SAFETIES: ReadonlySet<unknown> = new Set(['pure', 'idempotent', 'non-idempotent']);
const GATES: ReadonlySet<unknown> = new Set(['start', 'effect']);

function isLabels(raw: unknown): boolean {
  if (!isObject(raw)) return false;
  for (const name in raw) if (typeof raw[name] !== 'string') return false;
  return true;
}

/** One of `policyRead` that lacks nothing, with no more. */
function isPolicy(raw: unknown): boolean {
  if (!isObject(raw) || !isObject(raw.backoff)) return false;
  const { backoff } = raw;
  for (const name in raw) if (!POLICY.has(name)) return false;
  for (const name in backoff) if (!BACKOFF.has(name)) return false;
  return (
    Number.isSafeInteger(raw.maxAttempts) &&
    isNumber(backoff.initialMs) &&
    isNumber(backoff.factor) &&
    isNumber(backoff.maxMs) &&
    isNumber(backoff.jitter) &&
    (raw.attemptTimeoutMs === null || isNumber(raw.attemptTimeoutMs)) &&
    isNumber(raw.leaseMs) &&
    isNumber(raw.lostGraceMs) &&
    (raw.queueTimeoutMs === null || isNumber(raw.queueTimeoutMs)) &&
    (raw.deadlineAt === null || typeof raw.deadlineAt === 'string')
  );
}

const POLICY: ReadonlySet<string> = new Set([
  ...['maxAttempts', 'backoff', 'attemptTimeoutMs', 'leaseMs', 'lostGraceMs'],
  ...['queueTimeoutMs', 'deadlineAt'],
]);
const BACKOFF: ReadonlySet<string> = new Set(['initialMs', 'factor', 'maxMs', 'jitter']);

const isObject = (value: unknown): value is Parsed =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !Object.hasOwn(value, '__proto__');
const isNumber = (value: unknown): value is number => Number.isFinite(value);
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 1;
const isName = (value: unknown): boolean => typeof value === 'string' && value.length > 0;
const isFlag = (value: unknown): boolean => value === undefined || typeof value === 'boolean';
