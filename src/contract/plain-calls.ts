import type { EffectGate, EffectSafety } from './effects.ts';
import { isDeeperThan } from './json.ts';
import { bounds } from './limits.ts';
import { POOL_PATTERN, WORKER_ID_PATTERN } from './names.ts';
import type { SubmitRequest } from './tasks.ts';
import { TYPE_PATTERN } from './type-key.ts';
import type { ClaimRequest, Report, Want } from './worker-calls.ts';

/**
 * The bodies that come by the thousand, checked without a schema: a twentieth of the price. Each takes what its schema takes
 * and gives what that gives, or says nothing (`undefined`): then the schema decides, and names what is wrong. All of them
 * are given what JSON.parse has made. `test/contract/plain-calls.test.ts` holds both against each other.
 */

type Parsed = Readonly<Record<string, unknown>>;

/** A submission of `submitRequest`, as it came; one with labels, a policy or times of its own is for the schema. */
export function plainSubmit(raw: unknown): SubmitRequest | undefined {
  if (!isObject(raw)) return undefined;
  for (const name in raw) if (!SUBMITTED.has(name)) return undefined;
  const { idempotencyKey, effectKey, pool, priority, traceparent } = raw;
  const fits =
    isType(raw.type, raw.schemaVersion) &&
    isValue(raw.input) &&
    (idempotencyKey === undefined || isOpaque(idempotencyKey)) &&
    (effectKey === undefined || isOpaque(effectKey)) &&
    (pool === undefined || isPool(pool)) &&
    (priority === undefined || isInt(priority, -100, 100)) &&
    (traceparent === undefined || (typeof traceparent === 'string' && traceparent.length <= 200));
  return fits ? (raw as unknown as SubmitRequest) : undefined;
}

const SUBMITTED: ReadonlySet<string> = new Set([
  'type',
  'schemaVersion',
  'input',
  'idempotencyKey',
  'effectKey',
  'pool',
  'priority',
  'traceparent',
]);

/** A report of `reportSchemas`: those that nearly every attempt sends. */
export function plainReport(raw: unknown): Report | undefined {
  if (!isObject(raw)) return undefined;
  const { taskId, attemptId, fence, leaseToken } = raw;
  if (!isOpaque(taskId) || !isOpaque(attemptId) || !isOpaque(leaseToken)) return undefined;
  if (!isInt(fence, 1, Number.MAX_SAFE_INTEGER)) return undefined;
  switch (raw.op) {
    case 'complete': {
      const { result } = raw;
      if (!isValue(result)) return undefined;
      const start = isObject(raw.start) ? { codeHash: codeHash(raw.start.codeHash) } : undefined;
      const said = { taskId, attemptId, fence, leaseToken, result: result as object, start };
      return { op: 'complete', ...said };
    }
    case 'renew':
      return { op: 'renew', taskId, attemptId, fence, leaseToken };
    case 'start':
    case 'effect': {
      const { op, sessionId } = raw;
      if (!isOpaque(sessionId)) return undefined;
      const hash = codeHash(raw.codeHash);
      return { op, taskId, attemptId, fence, leaseToken, sessionId, codeHash: hash };
    }
    default:
      return undefined;
  }
}

const codeHash = (given: unknown): string | undefined =>
  typeof given === 'string' && CODE_HASH.test(given) ? given : undefined;
const CODE_HASH = /^[0-9a-f]{64}$/;

/** A claim of `claimRequest`. */
export function plainClaim(raw: unknown): ClaimRequest | undefined {
  if (!isObject(raw)) return undefined;
  const { workerId, sessionId, requestId, earlierSessions, pools, max, leaseMs } = raw;
  if (typeof workerId !== 'string' || workerId.length > bounds.workerIdChars) return undefined;
  if (!WORKER_ID_PATTERN.test(workerId) || !isOpaque(sessionId) || !isOpaque(requestId))
    return undefined;
  if (!isList(pools, bounds.pools) || pools.length === 0 || !pools.every(isPool)) return undefined;
  if (!isInt(max, 0, bounds.slots)) return undefined;
  if (leaseMs !== undefined && !isInt(leaseMs, 1, bounds.durationMs)) return undefined;
  if (earlierSessions !== undefined) {
    if (!isList(earlierSessions, bounds.earlierSessions)) return undefined;
    if (!earlierSessions.every(isOpaque)) return undefined;
  }
  const want = wants(raw.want);
  const waitMs = isInt(raw.waitMs, 0, bounds.claimWaitMs) ? raw.waitMs : undefined;
  return (
    want && { workerId, sessionId, earlierSessions, requestId, pools, want, max, leaseMs, waitMs }
  );
}

function wants(given: unknown): Want[] | undefined {
  if (!isList(given, bounds.wantedTypes)) return undefined;
  const all: Want[] = [];
  for (const one of given) {
    if (!isObject(one) || !isType(one.type, one.schemaVersion)) return undefined;
    if (!isInt(one.slots, 0, bounds.slots)) return undefined;
    all.push({
      type: one.type as string,
      schemaVersion: one.schemaVersion as number,
      slots: one.slots,
      effectSafety: safety(one.effectSafety),
      effectGate: gate(one.effectGate),
    });
  }
  return all;
}

/** A word that we do not know is the careful one. */
const safety = (word: unknown): EffectSafety =>
  word === 'pure' || word === 'idempotent' ? word : 'non-idempotent';
const gate = (word: unknown): EffectGate => (word === 'effect' ? word : 'start');

const isObject = (value: unknown): value is Parsed =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isList = (value: unknown, most: number): value is unknown[] =>
  Array.isArray(value) && value.length <= most;
const isInt = (value: unknown, least: number, most: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
const isOpaque = (value: unknown): value is string =>
  typeof value === 'string' && value.length >= 1 && value.length <= bounds.keyChars;
const isPool = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= bounds.poolChars && POOL_PATTERN.test(value);
const isType = (type: unknown, version: unknown): boolean =>
  typeof type === 'string' &&
  type.length <= bounds.typeChars &&
  TYPE_PATTERN.test(type) &&
  isInt(version, 1, Number.MAX_SAFE_INTEGER);
const isValue = (value: unknown): boolean =>
  value !== undefined && !isDeeperThan(value, bounds.valueDepth);
