import type { OperationId } from '../operations.ts';
import { defaultPolicy } from '../policy.ts';
import type { Op } from '../worker-calls.ts';

/** Requests and answers as they look. A test holds each against the schema of its call. */

export interface Example {
  readonly summary: string;
  readonly value: unknown;
}

const taskId = 'tsk_01jd3zs8e7c9h2m4p6r8t0v2x4';
const attemptId = 'att_01jd3zsa1b3d5f7h9k1m3p5r7t';
const workerId = 'worker-1';
const sessionId = 'ses_01jd3zs4n5p6q7r8s9t0v1w2x3';
const type = 'demo/hello';

/** Of parameters, by name. */
export const parameterExamples: Readonly<Record<string, unknown>> = {
  id: taskId,
  attemptId,
  workerId,
  sessionId,
};

/** Where the parameter of the same name is something else. */
export const operationParameterExamples: Partial<
  Record<OperationId, Readonly<Record<string, unknown>>>
> = {
  revokeKey: { id: 'key_01jd3zr9h7k5m3p1r9t7v5x3z1' },
};

export const bodyExamples: Partial<Record<OperationId, Readonly<Record<string, Example>>>> = {
  submit: {
    least: {
      summary: 'All that is needed',
      value: { type, schemaVersion: 1, input: { name: 'Ada' } },
    },
    safe: {
      summary: 'Safe to send again: the same key brings the same task',
      value: {
        type,
        schemaVersion: 1,
        input: { name: 'Ada' },
        idempotencyKey: 'order-4711/welcome',
        pool: 'default',
        priority: 10,
        policy: { maxAttempts: 3, attemptTimeoutMs: 60_000, backoff: { initialMs: 1_000 } },
        labels: { customer: '4711' },
      },
    },
  },
  submitBatch: {
    two: {
      summary: 'Two tasks, each answered for itself',
      value: [
        { type, schemaVersion: 1, input: 1, idempotencyKey: 'import-1' },
        { type, schemaVersion: 1, input: 2, idempotencyKey: 'import-2' },
      ],
    },
  },
  cancelTask: {
    reason: { summary: 'With a reason', value: { reason: 'The order was withdrawn' } },
    nothing: { summary: 'Nothing has to be said', value: {} },
  },
  retryTask: {
    once: {
      summary: 'One more attempt',
      value: { actionId: 'act-4711', ifSeq: 7, attempts: 1, reason: 'The printer has paper again' },
    },
  },
  resolveTask: {
    succeeded: {
      summary: 'Somebody looked: it took place',
      value: {
        actionId: 'act-4712',
        ifSeq: 7,
        resolution: 'succeeded',
        result: { receipt: 'R-17' },
        reason: 'The receipt is in the archive',
      },
    },
  },
  present: {
    ready: {
      summary: 'A worker with two slots and one handler',
      value: {
        sessionId,
        state: 'ready',
        slots: { max: 2, busy: 0 },
        pools: ['default'],
        handlersHash: 'sha256:5f0c',
        handlers: [{ type, schemaVersion: 1, effectSafety: 'idempotent', effectGate: 'start' }],
        versions: { worker: '0.1.0' },
        spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
      },
    },
  },
  claim: {
    two: {
      summary: 'Up to two attempts of one type',
      value: {
        workerId,
        sessionId,
        requestId: 'req_9f86d081884c7d659a2feaa0c55ad015',
        pools: ['default'],
        want: [
          { type, schemaVersion: 1, slots: 2, effectSafety: 'idempotent', effectGate: 'start' },
        ],
        max: 2,
      },
    },
  },
  reportBatch: {
    two: {
      summary: 'A lease renewed, an outcome told',
      value: {
        reports: [
          { op: 'renew', ...four() },
          { op: 'complete', ...four(), result: { greeting: 'Hello Ada' } },
        ],
      },
    },
  },
  newKey: {
    worker: { summary: 'A key for a worker', value: { name: 'workers', kind: 'task-worker' } },
  },
};

/** What an op carries beside the fields that all share. */
export const reportExamples: Readonly<Record<Op, Readonly<Record<string, unknown>>>> = {
  renew: {},
  start: { sessionId },
  effect: { sessionId },
  progress: { n: 1, percent: 40, message: 'Page 2 of 5', checkpoint: { page: 2 } },
  log: { n: 1, lines: [{ at: '2026-01-31T12:00:01.000Z', level: 'info', text: 'Page 2 printed' }] },
  complete: { result: { greeting: 'Hello Ada' } },
  fail: { error: { code: 'PAPER_OUT', message: 'The printer has no paper', retryable: true } },
  unknown: { error: { code: 'NO_ANSWER', message: 'The bank did not answer', retryable: false } },
  cancelled: { message: 'Stopped between two pages' },
  lost: { reason: 'host-died', begun: true, message: 'The host was ended by signal 9' },
  release: { reason: 'drain' },
};

/** The four fields of fencing. */
export function four(): Readonly<Record<string, unknown>> {
  const { attemptId: _, ...rest } = bodyFour();
  return { ...rest, attemptId };
}

/** Those that stand in the body where the attempt stands in the address. */
export function bodyFour(): Readonly<Record<string, unknown>> {
  return { taskId, fence: 1, leaseToken: 'm6zP0T2y8Qw4uV1sX3rB5dF7hJ9kL' };
}

const createdAt = '2026-01-31T12:00:00.000Z';
const task = {
  id: taskId,
  type,
  schemaVersion: 1,
  status: 'queued',
  pool: 'default',
  priority: 0,
  labels: {},
  effectKey: taskId,
  policy: defaultPolicy,
  attempts: 0,
  undelivered: 0,
  seq: 1,
  createdAt,
  waitingFor: 'no worker for demo/hello@1 in pool default',
};

/** Of answers, by call; the status is the one of success. */
export const answerExamples: Partial<Record<OperationId, unknown>> = {
  submit: task,
  submitBatch: [{ status: 201, body: task }],
  getTask: { ...task, input: { name: 'Ada' } },
  listTasks: { tasks: [task] },
  cancelTask: { ...task, status: 'cancelled', seq: 3, finishedAt: createdAt },
  taskEvents: {
    events: [{ seq: 1, at: createdAt, kind: 'submitted', by: 'key:key_1', data: {} }],
    seq: 1,
  },
  taskLogs: {
    lines: [{ cursor: '1', at: createdAt, level: 'info', text: 'Page 2 printed', attempt: 1 }],
    cursor: '1',
  },
  present: {
    serverTime: createdAt,
    project: 'default',
    presentAfterMs: 15_000,
    offlineAfterMs: 45_000,
    needHandlers: false,
    drain: false,
  },
  claim: {
    attempts: [
      {
        ...four(),
        leaseMs: 30_000,
        attempt: 1,
        type,
        schemaVersion: 1,
        effectKey: taskId,
        effectSafety: 'idempotent',
        effectGate: 'start',
        pool: 'default',
        labels: {},
        policy: defaultPolicy,
        cancelRequested: false,
        input: { name: 'Ada' },
      },
    ],
    pollAfterMs: 1_000,
    serverTime: createdAt,
    drain: false,
  },
  reportBatch: {
    results: [
      { status: 200, body: { accepted: true, attemptId, fence: 1, op: 'renew', leaseMs: 30_000 } },
    ],
  },
  report: { accepted: true, attemptId, fence: 1, op: 'complete' },
};
