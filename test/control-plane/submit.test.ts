import { beforeEach, describe, expect, it } from 'vitest';
import { World } from './world.ts';

let world: World;
beforeEach(async () => {
  world = await World.start();
});

const body = (more: Record<string, unknown> = {}) => ({
  type: 'demo/hello',
  schemaVersion: 1,
  input: { name: 'Ada' },
  ...more,
});

describe('an idempotency key', () => {
  const send = (more: Record<string, unknown>, headers: Record<string, string> = {}) =>
    world.call('POST', '/tasks', { body: body(more), headers });

  it('returns the first task for the same request, in the body or as a header', async () => {
    const first = await send({ idempotencyKey: 'k', labels: { a: '1', b: '2' } });
    expect(first.status).toBe(201);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    const again = await world.call('POST', '/tasks', {
      text: `{ "labels": {"b":"2","a":"1"}, "input": {"name":"\\u0041da"}, "schemaVersion": 1, "type": "demo/hello" }`,
      headers: { 'idempotency-key': 'k' },
    });
    expect(again.status).toBe(200);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body.id).toBe(first.body.id);
    const [attempt] = await world.claim();
    await world.report(attempt, 'complete', { result: 7 });
    expect((await send({ idempotencyKey: 'k', labels: { a: '1', b: '2' } })).body).toMatchObject({
      id: first.body.id,
      status: 'succeeded',
      result: 7,
    });
  });

  it('conflicts with another request, told apart before defaults', async () => {
    await send({ idempotencyKey: 'k' });
    for (const more of [{ input: 1 }, { priority: 0 }, { pool: 'default' }, { schemaVersion: 2 }])
      expect(await send({ idempotencyKey: 'k', ...more })).toMatchObject({
        status: 409,
        body: { code: 'IDEMPOTENCY_CONFLICT' },
      });
  });

  it('that differs between header and body is 400', async () => {
    expect(await send({ idempotencyKey: 'a' }, { 'idempotency-key': 'b' })).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'idempotencyKey' }] },
    });
    expect((await send({ idempotencyKey: 'a' }, { 'idempotency-key': 'a' })).status).toBe(201);
  });

  it('is the project’s own', async () => {
    const other = await world.key('task-producer', 'other');
    const first = await send({ idempotencyKey: 'k' });
    const second = await world.call('POST', '/tasks', {
      body: body({ idempotencyKey: 'k', input: 2 }),
      key: other,
    });
    expect(second.status).toBe(201);
    expect(second.body.id).not.toBe(first.body.id);
  });

  it('makes one task of many requests at the same moment', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => send({ idempotencyKey: 'k' })),
    );
    expect(new Set(replies.map(({ body: { id } }) => id)).size).toBe(1);
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
  });
});

describe('a submitted task', () => {
  it('shows what was asked for and the defaults', async () => {
    expect(await world.submit({ idempotencyKey: 'k', labels: { a: 'b' } })).toMatchObject({
      id: expect.stringMatching(/^tsk_[0-9a-z]{26}$/),
      status: 'queued',
      pool: 'default',
      priority: 0,
      labels: { a: 'b' },
      idempotencyKey: 'k',
      attempts: 0,
      undelivered: 0,
      seq: 1,
      createdAt: expect.stringMatching(/^2026-01-01T00:00:0/),
      policy: {
        maxAttempts: 5,
        backoff: { initialMs: 5_000, factor: 2, maxMs: 120_000, jitter: 0.2 },
        attemptTimeoutMs: 3_600_000,
        leaseMs: 30_000,
        lostGraceMs: 300_000,
        queueTimeoutMs: null,
        deadlineAt: null,
      },
      waitingFor: 'no worker for demo/hello@1 in pool default',
    });
  });

  it('hands its effect key, labels and trace to every attempt', async () => {
    await world.submit({ effectKey: 'order-7', labels: { a: 'b' }, traceparent: '00-ab-cd-01' });
    const [first] = await world.claim();
    await world.report(first, 'release', { reason: 'drain' });
    const [second] = await world.claim();
    for (const attempt of [first, second])
      expect(attempt).toMatchObject({
        effectKey: 'order-7',
        labels: { a: 'b' },
        traceparent: '00-ab-cd-01',
      });
    expect(second.fence).toBe(2);
  });

  it('is not claimed before its time', async () => {
    const { id } = await world.submit({ notBeforeAt: '2026-01-01T00:01:00.000Z' });
    expect((await world.task(id)).waitingFor).toBe('not before 2026-01-01T00:01:00.000Z');
    expect(await world.claim()).toEqual([]);
    await world.clock.advance(60_000);
    expect(await world.claim()).toHaveLength(1);
  });

  it('expires in the queue, from notBeforeAt on, or at its deadline', async () => {
    const quick = await world.submit({ policy: { queueTimeoutMs: 10_000 } });
    const later = await world.submit({
      notBeforeAt: '2026-01-01T00:01:00.000Z',
      policy: { queueTimeoutMs: 10_000 },
    });
    const dated = await world.submit({ policy: { deadlineAt: '2026-01-01T00:00:30.000Z' } });
    await world.clock.advance(12_000);
    expect(await world.task(quick.id)).toMatchObject({
      status: 'expired',
      error: { code: 'QUEUE_TIMEOUT' },
    });
    expect((await world.task(later.id)).status).toBe('queued');
    await world.clock.advance(20_000);
    expect(await world.task(dated.id)).toMatchObject({
      status: 'expired',
      error: { code: 'DEADLINE_PASSED' },
    });
    await world.clock.advance(40_000);
    expect(await world.task(later.id)).toMatchObject({
      status: 'expired',
      error: { code: 'QUEUE_TIMEOUT' },
    });
  });
});

describe('a batch', () => {
  it('answers each task for itself, in order', async () => {
    const reply = await world.call('POST', '/tasks/batch', {
      body: [
        body({ idempotencyKey: 'k' }),
        body({ type: 'no good' }),
        5,
        body({ idempotencyKey: 'k' }),
      ],
    });
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject([
      { status: 201, body: { status: 'queued' } },
      { status: 400, body: { code: 'INVALID_REQUEST', issues: [{ path: 'type' }] } },
      { status: 400, body: { code: 'INVALID_REQUEST' } },
      { status: 200, body: { id: reply.body[0].body.id } },
    ]);
  });

  it('has a bound', async () => {
    const { body: service } = await world.call('GET', '/');
    const many = Array.from({ length: service.limits.batch + 1 }, () => body());
    expect((await world.call('POST', '/tasks/batch', { body: many })).status).toBe(413);
    const all = await world.call('POST', '/tasks/batch', { body: many.slice(1) });
    expect(all.body.every(({ status }: { status: number }) => status === 201)).toBe(true);
    expect((await world.call('POST', '/tasks/batch', { body: {} })).status).toBe(400);
  });
});
