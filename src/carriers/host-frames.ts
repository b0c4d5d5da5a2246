/**
 * What comes from a host is checked before it is used: its handler can write to the channel too. One that is no frame
 * of the protocol is `undefined`: then the host cannot be trusted any more.
 */
import { isDeeperThan } from '../contract/json.ts';
import { bounds, limits } from '../contract/limits.ts';
import type { FromHost } from '../handler/protocol.ts';

type Fields = Readonly<Record<string, unknown>>;
type Check = (frame: Fields) => boolean;

export function checkedFrame(frame: unknown): FromHost | undefined {
  if (!isObject(frame) || typeof frame.t !== 'string') return undefined;
  const check = Object.hasOwn(CHECKS, frame.t) ? CHECKS[frame.t as FromHost['t']] : undefined;
  return check?.(frame) ? (frame as FromHost) : undefined;
}

const CHECKS: Record<FromHost['t'], Check> = {
  loaded: ({ file, declaration, code, warnings }) =>
    isText(file) &&
    isDeclaration(declaration) &&
    maybe(code, isCode) &&
    maybe(warnings, (list) => Array.isArray(list) && list.every(isProblem)),
  'not-loaded': ({ file, problem, unplaced }) =>
    isText(file) && isProblem(problem) && maybe(unplaced, (value) => typeof value === 'boolean'),
  begun: isOfCall,
  progress: (frame) => isOfCall(frame) && isUpdate(frame.update),
  log: (frame) => isOfCall(frame) && LEVELS.has(frame.level) && isText(frame.text),
  effect: isOfCall,
  end: (frame) =>
    isOfCall(frame) &&
    isOutcome(frame.outcome) &&
    isCount(frame.logBytesDropped) &&
    isCount(frame.tookUs),
  back: isOfCalls,
  took: isOfCalls,
  pong: () => true,
  exits: isOfCall,
  tainted: ({ why }) => isText(why),
};

const LEVELS = new Set<unknown>(['debug', 'info', 'warn', 'error']);
const SAFETIES = new Set<unknown>(['pure', 'idempotent', 'non-idempotent']);
const GATES = new Set<unknown>(['start', 'effect']);

function isOfCall({ n }: Fields): boolean {
  return isCount(n);
}

function isOfCalls({ ns }: Fields): boolean {
  return Array.isArray(ns) && ns.every(isCount);
}

function isDeclaration(value: unknown): boolean {
  return (
    isObject(value) &&
    SAFETIES.has(value.effectSafety) &&
    GATES.has(value.effectGate) &&
    typeof value.safetyDeclared === 'boolean' &&
    maybe(value.host, (host) => host === 'shared') &&
    maybe(value.timeoutMs, isCount)
  );
}

function isProblem(value: unknown): boolean {
  return isObject(value) && [value.code, value.message, value.hint].every(isText);
}

function isCode(value: unknown): boolean {
  return (
    isObject(value) && isSha256(value.hash) && isSha256(value.id) && maybe(value.notKept, isText)
  );
}

function isSha256(value: unknown): boolean {
  return isText(value) && /^[0-9a-f]{64}$/.test(value);
}

function isUpdate(value: unknown): boolean {
  return (
    isObject(value) &&
    maybe(value.percent, (percent) => isCount(percent) && percent <= 100) &&
    maybe(value.message, (message) => isText(message) && message.length <= bounds.messageChars) &&
    maybe(value.checkpoint, isCheckpoint)
  );
}

function isCheckpoint(value: unknown): boolean {
  return isShallow(value) && Buffer.byteLength(JSON.stringify(value)) <= limits.checkpointBytes;
}

function isOutcome(value: unknown): boolean {
  if (!isObject(value)) return false;
  switch (value.how) {
    case 'returned':
      return isShallow(value.result);
    case 'stopped':
      return true;
    case 'threw':
    case 'unknown':
      return isFailure(value.error);
    default:
      return false;
  }
}

function isFailure(value: unknown): boolean {
  return (
    isObject(value) &&
    isText(value.code) &&
    isText(value.message) &&
    typeof value.retryable === 'boolean' &&
    maybe(value.retryAfterMs, isCount) &&
    maybe(value.details, (details) => isObject(details) && isShallow(details))
  );
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** A number that is not below zero; JSON has no other odd ones. */
function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

/** Deeper values can be read, but writing them again overflows the stack. */
function isShallow(value: unknown): boolean {
  return !isDeeperThan(value, bounds.valueDepth);
}

function maybe(value: unknown, check: (value: unknown) => boolean): boolean {
  return value === undefined || check(value);
}
