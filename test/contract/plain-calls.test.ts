import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { bounds } from '../../src/contract/limits.ts';
import {
  plainAttempt,
  plainBatchAnswer,
  plainClaimAnswer,
  plainReportAnswer,
  plainReportBatchAnswer,
  plainTaskView,
} from '../../src/contract/plain-answers.ts';
import { plainClaim, plainReport, plainSubmit } from '../../src/contract/plain-calls.ts';
import { batchAnswer, submitRequest, taskView } from '../../src/contract/tasks.ts';
import {
  attempt,
  claimAnswer,
  claimRequest,
  type Op,
  reportAnswer,
  reportBatchAnswer,
  reportSchemas,
} from '../../src/contract/worker-calls.ts';
import { runs } from '../property.ts';

/** Values of every kind, many of them at an edge of what is taken. */
const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth));
const chars = (count: number) => 'a'.repeat(count);
const odd = fc.constantFrom<unknown>(
  ...[undefined, null, true, '', 'a', 'a b', 'A/b', 'a//b', 'a@1', '.a', 'a:b', '\n', 'pure'],
  ...['effect', 'idempotent', chars(64), chars(200), chars(201), chars(512), chars(513), '0', {}],
  ...[0, -0, 1, -1, 1.5, 100, 101, -100, -101, 10_000, 10_001, 2 ** 53 - 1, 2 ** 53, 1e300, []],
  ...[bounds.durationMs, bounds.durationMs + 1, ['a'], [''], ['a', 1], nested(bounds.valueDepth)],
  ...[nested(bounds.valueDepth + 1), nested(33), JSON.parse('{"__proto__":1}'), { a: { b: [{}] } }],
);
/** One of a good value, an odd one and none, each member for itself; sometimes a member more. */
const body = (good: Record<string, unknown>, also: readonly string[] = []) => {
  const names = [...Object.keys(good), ...also];
  const one = (name: string) =>
    fc.oneof(
      { weight: 24, arbitrary: fc.constant(good[name]) },
      { weight: 1, arbitrary: odd },
      { weight: 1, arbitrary: fc.constant(undefined) },
    );
  return fc
    .tuple(fc.record(Object.fromEntries(names.map((name) => [name, one(name)]))), fc.nat(30))
    .map(([made, more]) => {
      const text = JSON.stringify(made);
      const parsed = JSON.parse(
        more === 0
          ? text.replace(/}$/, text === '{}' ? '"__proto__":1}' : ',"__proto__":1}')
          : text,
      );
      return more === 1 ? { ...parsed, another: 1 } : parsed;
    });
};

function agree(
  given: fc.Arbitrary<unknown>,
  plain: (raw: unknown) => unknown,
  schema: (raw: unknown) => z.ZodType,
): void {
  fc.assert(
    fc.property(given, (raw) => {
      const taken = plain(raw);
      if (taken === undefined) return;
      const parsed = schema(raw).safeParse(raw);
      expect(parsed.success).toBe(true);
      expect(taken).toEqual(parsed.data);
    }),
    { numRuns: runs(600) },
  );
}

const four = { taskId: 'tsk_1', attemptId: 'att_1', fence: 1, leaseToken: 'x' };
const submission = { type: 'demo/hello', schemaVersion: 1, input: { name: 'Ada' } };
const claim = {
  workerId: 'w',
  sessionId: 's',
  requestId: 'r',
  pools: ['default', 'gpu/a:1'],
  want: [{ type: 'demo/hello', schemaVersion: 1, slots: 2, effectSafety: 'pure' }],
  max: 1,
};

describe('what is taken without a schema is what the schema takes', () => {
  it('of submissions', () => {
    const optional = ['idempotencyKey', 'effectKey', 'pool', 'priority', 'traceparent', 'labels'];
    agree(body(submission, optional), plainSubmit, () => submitRequest);
  });

  it('of reports', () => {
    const reports = [
      { op: 'complete', ...four, result: { ok: true }, start: { codeHash: '0'.repeat(64) } },
      { op: 'renew', ...four },
      { op: 'start', ...four, sessionId: 's', codeHash: '0'.repeat(64) },
      { op: 'effect', ...four, sessionId: 's' },
    ] as const;
    // An odd value may be the name of another op.
    const schema = (raw: unknown) => reportSchemas[(raw as { op: Op }).op];
    for (const good of reports) agree(body(good, ['codeHash']), plainReport, schema);
  });

  it('of claims', () => {
    const wanted = body({ ...claim.want[0], effectGate: 'effect' }, []);
    const whole = fc
      .tuple(body(claim, ['earlierSessions', 'leaseMs']), fc.array(wanted, { maxLength: 2 }))
      .map(([made, want]) => (made.want === undefined ? made : { ...made, want }));
    agree(whole, plainClaim, () => claimRequest);
  });
});

describe('what programs send by the thousand needs no schema', () => {
  it('a submission', () => {
    expect(plainSubmit(submission)).toBe(submission);
    const more = { ...submission, idempotencyKey: 'k', pool: 'gpu', priority: 3 };
    expect(plainSubmit(more)).toBe(more);
  });

  it('reports that end, renew and begin an attempt', () => {
    expect(plainReport({ op: 'complete', ...four, result: null })).toBeDefined();
    expect(plainReport({ op: 'renew', ...four })).toBeDefined();
    expect(plainReport({ op: 'start', ...four, sessionId: 's' })).toBeDefined();
  });

  it('a claim', () => {
    expect(plainClaim({ ...claim, earlierSessions: ['a'], leaseMs: 30_000 })).toBeDefined();
  });
});

it('what is not as it should be is left to the schema', () => {
  for (const raw of [null, [], 'x', 1, {}, { ...submission, labels: {} }])
    expect(plainSubmit(raw)).toBeUndefined();
  for (const raw of [null, [], { ...four }, { op: 'fail', ...four }, { op: 'complete', ...four }])
    expect(plainReport(raw)).toBeUndefined();
  for (const raw of [null, [], {}, { ...claim, max: -1 }, { ...claim, pools: [] }])
    expect(plainClaim(raw)).toBeUndefined();
});

describe('answers', () => {
  const backoff = { initialMs: 1_000, factor: 2, maxMs: 60_000, jitter: 0.2 };
  const policy = {
    ...{ maxAttempts: 3, backoff, attemptTimeoutMs: null, leaseMs: 30_000, lostGraceMs: 60_000 },
    ...{ queueTimeoutMs: null, deadlineAt: null },
  };
  const granted = {
    ...four,
    ...{ leaseMs: 30_000, attempt: 1, type: 'demo/hello', schemaVersion: 1, input: { i: 1 } },
    ...{ effectKey: 'k', effectSafety: 'pure', effectGate: 'start', pool: 'default' },
    ...{ labels: { a: 'b' }, policy, cancelRequested: false },
  };
  const claimed = {
    ...{ attempts: [granted], pollAfterMs: 1_000, drain: false, waitedMs: 5 },
    serverTime: '2026-01-01T00:00:00.000Z',
  };
  const accepted = { accepted: true, attemptId: 'att_1', fence: 1, op: 'complete' };

  const view = {
    ...{ id: 'tsk_1', type: 'demo/hello', schemaVersion: 1, status: 'queued', pool: 'default' },
    ...{ priority: 0, labels: { a: 'b' }, effectKey: 'k', policy, attempts: 0, undelivered: 0 },
    ...{ seq: 1, createdAt: '2026-01-01T00:00:00.000Z', waitingFor: 'no worker' },
  };
  const viewed = [
    ...['startedAt', 'finishedAt', 'worker', 'idempotencyKey', 'traceparent', 'notBeforeAt'],
    ...['cancelRequested', 'result', 'input', 'progress', 'error', 'lateReport'],
  ];

  it('that are plain are taken', () => {
    expect(plainAttempt(granted)).toBe(granted);
    expect(plainTaskView(view)).toBe(view);
    const items = [{ status: 201, body: view }];
    expect(plainBatchAnswer(items)).toBe(items);
    expect(plainReportAnswer(accepted)).toBe(accepted);
    const batch = { results: [{ status: 200, body: accepted }] };
    expect(plainReportBatchAnswer(batch)).toBe(batch);
    expect(plainClaimAnswer(claimed)).toBe(claimed);
  });

  it('are taken as the schema takes them', () => {
    const also = ['checkpoint', 'traceparent'];
    agree(body(granted, also), plainAttempt, () => attempt);
    agree(
      body(policy).map((one) => ({ ...granted, policy: one })),
      plainAttempt,
      () => attempt,
    );
    agree(
      body(backoff).map((one) => ({ ...granted, policy: { ...policy, backoff: one } })),
      plainAttempt,
      () => attempt,
    );
    agree(
      body({ a: 'b', c: 'd' }).map((labels) => ({ ...granted, labels })),
      plainAttempt,
      () => attempt,
    );
    agree(body(claimed), plainClaimAnswer, () => claimAnswer);
    agree(body({ results: [accepted] }), plainReportBatchAnswer, () => reportBatchAnswer);
    agree(body(view, viewed), plainTaskView, () => taskView);
    const item = body({ status: 201, body: view });
    agree(fc.array(item, { maxLength: 2 }), plainBatchAnswer, () => batchAnswer);
    agree(
      body(accepted, ['leaseMs', 'cancelRequested', 'replayed']),
      plainReportAnswer,
      () => reportAnswer,
    );
  });
});
