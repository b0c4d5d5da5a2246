/** What must be in the bodies that a worker sends; written from the contract's text, apart from the product's schemas. */
import type { Issue } from './answers.ts';
import type { Body, Report } from './journal.ts';

type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === 'string' && value.length > 0;
const bool: Check = (value) => typeof value === 'boolean';
const whole: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const positive: Check = (value) => whole(value) && (value as number) > 0;
const list: Check = (value) => Array.isArray(value);
const object: Check = (value) => typeof value === 'object' && value !== null && !list(value);
const present: Check = (value) => value !== undefined;
const oneOf =
  (...words: string[]): Check =>
  (value) =>
    words.includes(value as string);
const maybe =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const each =
  (shape: Record<string, Check>): Check =>
  (value) =>
    Array.isArray(value) &&
    value.every((item) => object(item) && misfits(item, shape).length === 0);
const code: Check = (value) => text(value) && /^[A-Z][A-Z0-9_]*$/.test(value as string);

const error = (retryable: Check): Check => {
  const shape = { code, message: (value: unknown) => typeof value === 'string', retryable };
  return (value) => object(value) && misfits(value as Body, shape).length === 0;
};

const COMMON = { taskId: text, attemptId: text, fence: positive, leaseToken: text };

const OF_OP: Record<string, Record<string, Check>> = {
  start: { sessionId: text },
  effect: { sessionId: text },
  progress: { n: positive, percent: maybe((value) => typeof value === 'number') },
  log: {
    n: positive,
    lines: each({ at: text, level: text, text: (value) => typeof value === 'string' }),
  },
  stream: { chunks: list },
  complete: { result: present, start: maybe(object) },
  fail: { error: error(bool), start: maybe(object) },
  unknown: { error: error(maybe(bool)), start: maybe(object) },
  lost: {
    reason: oneOf('worker-restarted', 'host-died', 'timeout', 'lease', 'drain', 'cancel'),
    begun: bool,
    killed: maybe(bool),
  },
  release: { reason: text },
};

const CLAIM = {
  workerId: text,
  sessionId: text,
  requestId: text,
  earlierSessions: maybe((value) => list(value) && (value as unknown[]).length <= 8),
  pools: list,
  want: each({ type: text, schemaVersion: positive, slots: whole }),
  max: whole,
  leaseMs: maybe(positive),
  waitMs: maybe(whole),
};

const PRESENT = {
  sessionId: text,
  state: oneOf('ready', 'full', 'draining', 'offline'),
  slots: (value: unknown) =>
    object(value) && misfits(value as Body, { max: whole, busy: whole }).length === 0,
  pools: list,
  handlersHash: text,
  handlers: maybe(each({ type: text, schemaVersion: positive })),
  versions: object,
  spool: (value: unknown) =>
    object(value) &&
    misfits(value as Body, { pending: whole, bytes: whole, ok: bool }).length === 0,
};

/** The faults of a report; the op and id of a single one are in its address. */
export function faultsOf(report: Report): Issue[] {
  const { op, attemptId, body } = report;
  const shape = { ...COMMON, ...OF_OP[op] };
  const issues = misfits({ ...body, attemptId }, shape);
  if (body.attemptId !== undefined && body.attemptId !== attemptId) {
    issues.push({ path: 'attemptId', message: 'is not that of the address' });
  }
  if (body.op !== undefined && body.op !== op) {
    issues.push({ path: 'op', message: 'is not that of the address' });
  }
  return issues;
}

export const claimFaults = (body: Body): Issue[] => misfits(body, CLAIM);
export const presentFaults = (body: Body): Issue[] => misfits(body, PRESENT);

function misfits(body: Body, shape: Record<string, Check>): Issue[] {
  return Object.entries(shape)
    .filter(([name, fits]) => !fits(body[name]))
    .map(([path]) => ({ path, message: 'is missing or not what the contract says' }));
}
