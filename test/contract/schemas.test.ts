import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { bounds } from '../../src/contract/limits.ts';
import * as service from '../../src/contract/service.ts';
import * as tasks from '../../src/contract/tasks.ts';
import * as worker from '../../src/contract/worker-calls.ts';

const four = { taskId: 'tsk_1', attemptId: 'att_1', fence: 1, leaseToken: 'x' };
const error = { code: 'BROKEN', message: 'It broke.' };
const submit = { type: 'demo/hello', schemaVersion: 1, input: { name: 'Ada' } };
const claim = {
  workerId: 'w',
  sessionId: 's',
  requestId: 'r',
  pools: ['default'],
  want: [],
  max: 1,
};
const presence = {
  sessionId: 's',
  state: 'ready',
  slots: { max: 2, busy: 0 },
  pools: ['default'],
  handlersHash: 'h',
  versions: { agent: '0.1.0' },
  spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
};
const attempt = {
  ...four,
  leaseMs: 30_000,
  attempt: 1,
  type: 'demo/hello',
  schemaVersion: 1,
  input: null,
  effectKey: 'tsk_1',
  effectSafety: 'pure',
  effectGate: 'start',
  pool: 'default',
  labels: {},
  policy: {},
  cancelRequested: false,
};

const paths = (result: { error?: { issues: { path: PropertyKey[] }[] } | undefined }) =>
  result.error?.issues.map((issue) => issue.path.join('.')) ?? [];
const nested = (depth: number) => {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
};

describe('a submission', () => {
  it('needs a type, a version and an input', () => {
    expect(tasks.submitRequest.parse(submit)).toEqual(submit);
    expect(paths(tasks.submitRequest.safeParse({})).sort()).toEqual([
      'input',
      'schemaVersion',
      'type',
    ]);
    expect(tasks.submitRequest.safeParse({ ...submit, input: null }).success).toBe(true);
  });

  it('refuses a field that it does not know, at every level', () => {
    for (const [wrong, path] of [
      [{ ...submit, prioritty: 1 }, ''],
      [{ ...submit, callbackUrl: 'https://example.com' }, ''],
      [{ ...submit, policy: { maxAttempt: 1 } }, 'policy'],
      [{ ...submit, policy: { backoff: { max: 1 } } }, 'policy.backoff'],
    ] as const) {
      const result = tasks.submitRequest.safeParse(wrong);
      expect(result.error?.issues[0]?.code).toBe('unrecognized_keys');
      expect(paths(result)).toEqual([path]);
    }
  });

  it.each([
    ['type', { type: 'demo/hello@1' }],
    ['schemaVersion', { schemaVersion: 0 }],
    ['pool', { pool: '' }],
    ['priority', { priority: 101 }],
    ['priority', { priority: -101 }],
    ['priority', { priority: 0.5 }],
    ['notBeforeAt', { notBeforeAt: 'soon' }],
    ['idempotencyKey', { idempotencyKey: '' }],
    ['effectKey', { effectKey: 1 }],
    ['labels.a', { labels: { a: 1 } }],
    ['input', { input: nested(bounds.valueDepth + 1) }],
  ])('names %s when it is wrong', (path, wrong) => {
    expect(paths(tasks.submitRequest.safeParse({ ...submit, ...wrong }))).toEqual([path]);
  });

  it('may say everything', () => {
    const whole = {
      ...submit,
      input: nested(bounds.valueDepth),
      idempotencyKey: 'k',
      effectKey: 'e',
      pool: 'model/x:1',
      priority: -100,
      notBeforeAt: '2030-01-01T00:00:00Z',
      policy: { maxAttempts: 1 },
      labels: { a: 'b' },
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    };
    expect(tasks.submitRequest.parse(whole)).toEqual(whole);
  });
});

describe('readers ignore what they do not know', () => {
  const action = { actionId: 'a', ifSeq: 3, reason: 'because' };
  it.each<[string, z.ZodType, object]>([
    ['cancel', tasks.cancelRequest, {}],
    ['retry', tasks.retryRequest, action],
    ['resolve', tasks.resolveRequest, { ...action, resolution: 'failed' }],
    ['list', tasks.listQuery, {}],
    ['events', tasks.eventsQuery, {}],
    ['logs', tasks.logsQuery, {}],
    ['claim', worker.claimRequest, claim],
    ['presence', worker.presenceRequest, presence],
    ['hints', worker.hintsQuery, { workerId: 'w', sessionId: 's' }],
    ['complete', worker.report, { op: 'complete', ...four, result: 1 }],
    ['a claim’s answer', worker.claimAnswer, { attempts: [] }],
    ['an attempt', worker.attempt, attempt],
    [
      'a report’s answer',
      worker.reportAnswer,
      { accepted: true, attemptId: 'att_1', fence: 1, op: 'renew' },
    ],
    [
      'discovery',
      service.serviceInfo,
      {
        contracts: [1],
        serverTime: 'now',
        limits: {
          inlineBytes: 1,
          batch: 1,
          batchBytes: 1,
          leaseMs: { min: 1, default: 1, max: 1 },
          checkpointBytes: 1,
          logLineBytes: 1,
        },
      },
    ],
  ])('in %s', (_, schema, body) => {
    expect(schema.safeParse(body).error).toBeUndefined();
    expect(schema.safeParse({ ...body, somethingNew: { a: [1] } }).error).toBeUndefined();
  });

  it('but a key is never made without the limits that were asked for', () => {
    const made = (more: object) =>
      service.newKeyRequest.safeParse({ name: 'n', kind: 'task-worker', ...more }).success;
    expect(made({})).toBe(true);
    expect(made({ limits: { pools: ['a'], types: ['a/b', 'a/b@2'], workerIdPrefix: 'w-' } })).toBe(
      true,
    );
    for (const more of [
      { limits: { queues: ['a'] } },
      { limits: { pools: [] } },
      { limits: { types: ['a/b@0'] } },
      { limits: { types: ['a b'] } },
      { limits: { workerIdPrefix: '/' } },
      { limits: { requestsPerMinute: 0 } },
      { expiresAt: '2030-01-01T00:00:00Z', expiresInMs: 1 },
      { expiresInMs: 0 },
      { kind: 'admin', limits: { pools: ['a'] } },
      { kind: 'metrics', limits: { types: ['a'] } },
      { kind: 'task-producer', limits: { workerIdPrefix: 'w' } },
    ])
      expect(made(more), JSON.stringify(more)).toBe(false);
    expect(made({ kind: 'admin', limits: { requestsPerMinute: 60 } })).toBe(true);
    for (const kind of ['task-worker', 'task-operator'])
      expect(made({ kind, limits: { types: ['a'], workerIdPrefix: 'w' } }), kind).toBe(true);
    expect(made({ kind: 'task-producer', limits: { types: ['a'], pools: ['w'] } })).toBe(true);
  });

  it('takes an effect safety of the future for the careful one', () => {
    const want = {
      type: 'a',
      schemaVersion: 1,
      slots: 1,
      effectSafety: 'mostly',
      effectGate: 'later',
    };
    const careful = { effectSafety: 'non-idempotent', effectGate: 'start' };
    expect(worker.want.parse(want)).toMatchObject(careful);
    expect(worker.want.parse({ type: 'a', schemaVersion: 1, slots: 1 })).toMatchObject(careful);
    expect(worker.handlerInfo.parse(want)).toMatchObject(careful);
    expect(worker.attempt.parse({ ...attempt, ...want })).toMatchObject(careful);
  });

  it('shows a status of the future as it is, and not as terminal', () => {
    const view = {
      id: 'tsk_1',
      type: 'a',
      schemaVersion: 1,
      status: 'paused',
      pool: 'default',
      priority: 0,
      labels: {},
      effectKey: 'e',
      policy: {},
      attempts: 0,
      undelivered: 0,
      seq: 1,
      createdAt: '2026-01-01T00:00:00Z',
    };
    expect(tasks.taskView.parse(view).status).toBe('paused');
    expect(tasks.terminalStatuses.has('paused')).toBe(false);
  });
});

describe('an attempt in a claim’s answer', () => {
  it('is read with its defaults', () => {
    const { effectSafety: _s, effectGate: _g, labels: _l, cancelRequested: _c, ...least } = attempt;
    expect(worker.attempt.parse(least)).toMatchObject({
      effectSafety: 'non-idempotent',
      effectGate: 'start',
      labels: {},
      cancelRequested: false,
      policy: { maxAttempts: 5 },
    });
  });

  it('is undecodable only where a field has the wrong JSON type', () => {
    const labels = Object.fromEntries(
      Array.from({ length: 65 }, (_, i) => [`k${i}`, 'x'.repeat(5_000)]),
    );
    expect(
      worker.attempt.safeParse({ ...attempt, labels, type: 'no/type@1', pool: '?' }).success,
    ).toBe(true);
    expect(worker.attempt.safeParse({ ...attempt, input: nested(490) }).success).toBe(true);
    for (const wrong of [
      { leaseMs: '30' },
      { fence: '1' },
      { labels: { a: 1 } },
      { policy: 1 },
      { cancelRequested: 'no' },
      { type: null },
    ])
      expect(
        worker.attempt.safeParse({ ...attempt, ...wrong }).success,
        JSON.stringify(wrong),
      ).toBe(false);
    const { input: _, ...without } = attempt;
    expect(paths(worker.attempt.safeParse(without))).toEqual(['input']);
  });

  it('can be given back if its four fields can be read', () => {
    expect(worker.attemptIdentity.parse({ ...four, labels: 7 })).toEqual(four);
  });
});

describe('reports', () => {
  it('are the ops of the contract, and six of them end the attempt', () => {
    expect([...worker.ops].sort()).toEqual([
      'cancelled',
      'complete',
      'effect',
      'fail',
      'log',
      'lost',
      'progress',
      'release',
      'renew',
      'start',
      'unknown',
    ]);
    expect([...worker.terminalOps].sort()).toEqual([
      'cancelled',
      'complete',
      'fail',
      'lost',
      'release',
      'unknown',
    ]);
  });

  it.each([
    { op: 'renew' },
    { op: 'start', sessionId: 's' },
    { op: 'effect', sessionId: 's' },
    { op: 'progress', n: 1 },
    { op: 'progress', n: 2, percent: 50, message: 'half', checkpoint: { at: 1 } },
    { op: 'progress', n: 3, checkpoint: null },
    { op: 'log', n: 1, lines: [{ at: '2026-01-01T00:00:00Z', level: 'info', text: 'x' }] },
    { op: 'complete', result: null },
    { op: 'fail', error: { ...error, retryable: true, retryAfterMs: 5, details: { a: 1 } } },
    { op: 'unknown', error },
    { op: 'cancelled' },
    { op: 'cancelled', message: 'm', details: {} },
    { op: 'lost', reason: 'drain', begun: true, killed: true, message: 'm', details: {} },
    { op: 'release', reason: 'no-handler' },
  ])('takes %j', (body) => {
    expect(worker.report.safeParse({ ...four, ...body }).error).toBeUndefined();
  });

  it.each([
    ['op', { op: 'explode' }],
    ['sessionId', { op: 'start' }],
    ['n', { op: 'progress', n: 0 }],
    ['percent', { op: 'progress', n: 1, percent: 101 }],
    ['checkpoint', { op: 'progress', n: 1, checkpoint: nested(bounds.valueDepth + 1) }],
    ['result', { op: 'complete' }],
    ['result', { op: 'complete', result: nested(bounds.valueDepth + 1) }],
    ['error.code', { op: 'fail', error: { ...error, code: 'not upper' } }],
    ['error.message', { op: 'fail', error: { code: 'X' } }],
    ['error.details', { op: 'fail', error: { ...error, details: nested(bounds.valueDepth + 1) } }],
    ['reason', { op: 'lost', reason: 'bored', begun: true }],
    ['begun', { op: 'lost', reason: 'lease' }],
    ['reason', { op: 'release' }],
    ['fence', { op: 'renew', fence: 0 }],
    ['leaseToken', { op: 'renew', leaseToken: '' }],
  ])('names %s when it is wrong', (path, body) => {
    expect(paths(worker.report.safeParse({ ...four, ...body }))).toEqual([path]);
  });

  it('are answered by {accepted: true} with the names of the attempt, by nothing else', () => {
    const answer = { accepted: true, attemptId: 'att_1', fence: 1, op: 'complete' };
    expect(worker.reportAnswer.safeParse(answer).success).toBe(true);
    for (const other of [
      {},
      { accepted: true },
      { ...answer, accepted: false },
      { ...answer, fence: '1' },
      'ok',
      null,
    ])
      expect(worker.reportAnswer.safeParse(other).success, JSON.stringify(other)).toBe(false);
  });
});

describe('a claim', () => {
  it('is bounded and names the worker as one segment', () => {
    expect(paths(worker.claimRequest.safeParse({ ...claim, workerId: 'a/b' }))).toEqual([
      'workerId',
    ]);
    expect(
      paths(worker.claimRequest.safeParse({ ...claim, earlierSessions: Array(9).fill('s') })),
    ).toEqual(['earlierSessions']);
    expect(paths(worker.claimRequest.safeParse({ ...claim, pools: [] }))).toEqual(['pools']);
    expect(
      paths(
        worker.claimRequest.safeParse({
          ...claim,
          want: [{ type: 'a@1', schemaVersion: 1, slots: 1 }],
        }),
      ),
    ).toEqual(['want.0.type']);
  });
});

describe('what people send', () => {
  it('says the path of what is missing', () => {
    expect(paths(tasks.retryRequest.safeParse({})).sort()).toEqual(['actionId', 'ifSeq', 'reason']);
    expect(paths(tasks.resolveRequest.safeParse({ actionId: 'a', ifSeq: 1, reason: 'r' }))).toEqual(
      ['resolution'],
    );
    expect(tasks.retryRequest.parse({ actionId: 'a', ifSeq: 1, reason: 'r' }).attempts).toBe(1);
    expect(tasks.cancelRequest.parse({})).toEqual({});
  });

  it('reads queries as texts', () => {
    expect(tasks.eventsQuery.parse({ after: '7', waitMs: '30000' })).toMatchObject({
      after: 7,
      waitMs: 30_000,
    });
    expect(paths(tasks.eventsQuery.safeParse({ waitMs: '30001' }))).toEqual(['waitMs']);
    expect(paths(tasks.eventsQuery.safeParse({ after: '-1' }))).toEqual(['after']);
    expect(tasks.listQuery.parse({ status: ['failed', 'queued'], limit: '3' })).toMatchObject({
      limit: 3,
    });
    expect(paths(tasks.listQuery.safeParse({ needs: 'love', type: 'a@1' })).sort()).toEqual([
      'needs',
      'type',
    ]);
  });
});

describe('slots of a worker', () => {
  it('are so few that their sum over a fleet is a whole number for every reader', () => {
    for (const name of ['max', 'busy']) {
      const slots = { max: 2, busy: 1, [name]: 10_001 };
      expect(paths(worker.presenceRequest.safeParse({ ...presence, slots }))).toEqual([
        `slots.${name}`,
      ]);
    }
  });
});

describe('words of the contract', () => {
  it('are all there, and no others', () => {
    expect(tasks.taskStatuses).toEqual([
      'queued',
      'running',
      'succeeded',
      'failed',
      'outcome-unknown',
      'cancelled',
      'expired',
    ]);
    expect([...tasks.terminalStatuses]).toEqual(tasks.taskStatuses.slice(2));
    expect(tasks.eventKinds).toEqual([
      'submitted',
      'leased',
      'started',
      'effect-begun',
      'succeeded',
      'failed',
      'unknown',
      'cancelled',
      'lost',
      'released',
      'requeued',
      'expired',
      'cancel-requested',
      'retried',
      'resolved',
      'late-report',
    ]);
    expect(worker.workerStates).toEqual(['ready', 'full', 'draining', 'offline']);
    expect(worker.lostReasons).toEqual([
      'worker-restarted',
      'host-died',
      'timeout',
      'lease',
      'drain',
      'cancel',
    ]);
    expect(service.keyKinds).toEqual([
      'task-producer',
      'task-worker',
      'task-operator',
      'metrics',
      'admin',
      'inference',
      'sdk',
    ]);
  });
});
