import { beforeEach, describe, expect, it } from 'vitest';
import { type Reply, World } from './world.ts';

/** Contract, section 2: sessions and claims; key take-over of section 6. */

let world: World;
beforeEach(async () => {
  world = await World.start();
});

const claim = (worker: string, more: Record<string, unknown> = {}, key?: string) =>
  world.call('POST', '/claims', { body: world.claimBody(worker, more), ...(key ? { key } : {}) });
const superseded = (reply: Reply) =>
  expect(reply).toMatchObject({ status: 409, body: { code: 'SESSION_SUPERSEDED' } });
const presence = (more: Record<string, unknown> = {}) => ({
  sessionId: 'ses-w1',
  state: 'ready',
  slots: { max: 2, busy: 0 },
  pools: ['default'],
  handlersHash: 'h1',
  handlers: [{ type: 'demo/hello', schemaVersion: 1, effectSafety: 'pure' }],
  versions: { worker: '1' },
  spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
  ...more,
});
const put = (more: Record<string, unknown> = {}, key?: string) =>
  world.call('PUT', '/workers/w1', { body: presence(more), ...(key ? { key } : {}) });

describe('one current session per worker id', () => {
  it('is the one that was first seen last, whether by a claim or a presence', async () => {
    await put();
    expect((await claim('w1')).status).toBe(200);
    await put({ sessionId: 'ses-2' });
    superseded(await claim('w1'));
    superseded(await put());
    expect((await claim('w1', { sessionId: 'ses-2' })).status).toBe(200);
    await claim('w1', { sessionId: 'ses-3' });
    superseded(await put({ sessionId: 'ses-2' }));
    expect((await put({ sessionId: 'ses-3' })).status).toBe(200);
  });

  it('never becomes current again, not even as the only one that speaks', async () => {
    await claim('w1', { sessionId: 'old' });
    await claim('w1', { sessionId: 'new' });
    await world.clock.advance(3_600_000);
    superseded(await claim('w1', { sessionId: 'old' }));
    superseded(await put({ sessionId: 'old' }));
  });

  it('supersedes what a claim names as earlier, seen or not', async () => {
    await claim('w1', { sessionId: 'b', earlierSessions: ['a', 'never-seen', 'b'] });
    superseded(await claim('w1', { sessionId: 'a' }));
    superseded(await put({ sessionId: 'never-seen' }));
    expect((await claim('w1', { sessionId: 'b' })).status).toBe(200);
  });

  it('is another one for another worker id and another project', async () => {
    const other = await world.key('task-worker', 'other');
    await claim('w1', { sessionId: 'a' });
    await claim('w2', { sessionId: 'b', earlierSessions: ['a'] });
    await claim('w1', { sessionId: 'b', earlierSessions: ['a'] }, other);
    expect((await claim('w1', { sessionId: 'a' })).status).toBe(200);
  });

  it('is forgotten after a day without a sign of life', async () => {
    world = await World.start({ timing: { sweepEveryMs: 60_000 } });
    await claim('w1', { sessionId: 'a' });
    await claim('w1', { sessionId: 'b' });
    await world.clock.advance(25 * 3_600_000);
    expect((await claim('w1', { sessionId: 'a' })).status).toBe(200);
  });
});

describe('start and effect', () => {
  const NOW = { effectSafety: 'non-idempotent' };

  it('are accepted from the session that claimed, not from its successor', async () => {
    const { attempt } = await world.running(NOW);
    await claim('w1', { sessionId: 'ses-2' });
    superseded(await world.gate(attempt));
    const successor = await world.report(attempt, 'start', { sessionId: 'ses-2' });
    expect(successor.body.code).toBe('STALE_ATTEMPT');
    expect((await world.report(attempt, 'start', { sessionId: 'nobody' })).body.code).toBe(
      'STALE_ATTEMPT',
    );
    // A restarted worker sends the terminal reports of the session before it.
    expect(
      (await world.report(attempt, 'lost', { reason: 'worker-restarted', begun: false })).status,
    ).toBe(200);
  });

  it('are looked at for fence and token before the session', async () => {
    const { attempt } = await world.running(NOW);
    await claim('w1', { sessionId: 'ses-2' });
    const wrong = { ...attempt, fence: 9 };
    expect((await world.gate(wrong)).body.code).toBe('STALE_ATTEMPT');
  });
});

describe('claims', () => {
  it('grant at most max and the slots of each type', async () => {
    for (let i = 0; i < 6; i++) await world.submit({ type: i % 2 ? 'demo/b' : 'demo/a' });
    const want = [
      { type: 'demo/a', schemaVersion: 1, slots: 1 },
      { type: 'demo/b', schemaVersion: 1, slots: 5 },
    ];
    const first = await world.claim('w1', { want, max: 3 });
    expect(first.map(({ type }) => type)).toEqual(['demo/a', 'demo/b', 'demo/b']);
    expect(await world.claim('w1', { want: [], max: 3 })).toEqual([]);
    expect(await world.claim('w1', { want, max: 0 })).toEqual([]);
  });

  it('pin what the worker wants to the attempt; without a word it is the careful one', async () => {
    await world.submit();
    const [attempt] = await world.claim('w1', {
      want: [{ type: 'demo/hello', schemaVersion: 1, slots: 1 }],
    });
    expect(attempt).toMatchObject({ effectSafety: 'non-idempotent', effectGate: 'start' });
  });

  it('get leases of the shorter wish, within the limits', async () => {
    for (const [task, asked, given] of [
      [undefined, undefined, 30_000],
      [60_000, 20_000, 20_000],
      [20_000, 60_000, 20_000],
      [1, undefined, 5_000],
      [10_000_000, 10_000_000, 600_000],
    ] as const) {
      await world.submit(task === undefined ? {} : { policy: { leaseMs: task } });
      const [attempt] = await world.claim('w1', asked === undefined ? {} : { leaseMs: asked });
      expect(attempt.leaseMs).toBe(given);
    }
  });

  it('never give work to a repeated request that got none, within a day', async () => {
    const body = world.claimBody();
    expect((await world.call('POST', '/claims', { body })).body.attempts).toEqual([]);
    const task = await world.submit();
    expect((await world.call('POST', '/claims', { body })).body.attempts).toEqual([]);
    // Another worker's request of the same name is another request.
    expect((await claim('w2', { requestId: body.requestId })).body.attempts).toMatchObject([
      { taskId: task.id },
    ]);
  });

  it('are checked for the session before they are replayed', async () => {
    const body = world.claimBody();
    await world.submit();
    await world.call('POST', '/claims', { body });
    await claim('w1', { sessionId: 'ses-2' });
    superseded(await world.call('POST', '/claims', { body }));
  });

  it('stop at batchBytes but hold one attempt at least', async () => {
    const small = await World.start({ limits: { batchBytes: 20_000 } });
    for (let i = 0; i < 4; i++) await small.submit({ input: 'x'.repeat(9_000) });
    expect(await small.claim('w1', { max: 10 })).toHaveLength(2);
    const one = await World.start({ limits: { batchBytes: 12_000 } });
    await one.submit({ input: 'x'.repeat(11_000), policy: { maxAttempts: 1 } });
    const tight = new World({ store: one.store, limits: { batchBytes: 4_000 } });
    const key = await one.key('task-worker');
    const reply = await tight.call('POST', '/claims', {
      key,
      body: one.claimBody('w1', { max: 10 }),
    });
    expect(reply.body.attempts).toHaveLength(1);
  });

  it('leave other types and pools alone', async () => {
    await world.submit({ pool: 'gpu' });
    await world.submit({ schemaVersion: 2 });
    expect(await world.claim('w1', { max: 10 })).toEqual([]);
    expect(await world.claim('w1', { max: 10, pools: ['gpu', 'gpu'] })).toHaveLength(1);
  });

  it('tell an attempt whose task is to be cancelled', async () => {
    const { task, attempt } = await world.running();
    await world.call('POST', `/tasks/${task.id}/cancel`, { body: {} });
    expect((await world.report(attempt, 'renew')).body.cancelRequested).toBe(true);
    expect((await world.report(attempt, 'cancelled')).status).toBe(200);
    expect((await world.task(task.id)).status).toBe('cancelled');
  });
});

describe('another key of the project', () => {
  it('takes a worker id over once its worker is offline, not before', async () => {
    const other = await world.key('task-worker', 'default', 'other');
    await put();
    const early = await claim('w1', { sessionId: 'ses-2' }, other);
    expect(early).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
    expect((await put({ sessionId: 'ses-2' }, other)).body.code).toBe('CONFLICT');
    await world.clock.advance(45_001);
    expect((await claim('w1', { sessionId: 'ses-2' }, other)).status).toBe(200);
    superseded(await put());
  });

  it('takes it over at once where the worker said goodbye', async () => {
    const other = await world.key('task-worker', 'default', 'other');
    await put();
    await put({ state: 'offline' });
    expect((await claim('w1', { sessionId: 'ses-2' }, other)).status).toBe(200);
  });

  it('speaks on at once with the current session', async () => {
    const other = await world.key('task-worker', 'default', 'other');
    await put();
    expect((await claim('w1', {}, other)).status).toBe(200);
    // The old key is now the other one.
    expect((await claim('w1', { sessionId: 'ses-2' })).body.code).toBe('CONFLICT');
    expect((await claim('w1')).status).toBe(200);
  });

  it('changes nothing where it is refused', async () => {
    const other = await world.key('task-worker', 'default', 'other');
    await put();
    await claim('w1', { sessionId: 'x', earlierSessions: ['ses-w1'] }, other);
    expect((await put()).status).toBe(200);
  });

  it('finds the worker online as long as its attempts are renewed', async () => {
    const other = await world.key('task-worker', 'default', 'other');
    const { attempt } = await world.running();
    for (let i = 0; i < 6; i++) {
      await world.clock.advance(15_000);
      await world.report(attempt, 'renew');
    }
    expect((await claim('w1', { sessionId: 'ses-2' }, other)).body.code).toBe('CONFLICT');
  });
});

describe('an operator’s drain', () => {
  it('is for the current session and reaches it in its answers', async () => {
    await put();
    await world.submit();
    const asked = await world.call('POST', '/workers/w1/drain');
    expect(asked).toMatchObject({ status: 200, body: { workerId: 'w1', drainRequested: true } });
    expect((await put()).body.drain).toBe(true);
    const drained = await claim('w1');
    expect(drained.body).toMatchObject({ attempts: [], drain: true });
    const fresh = await claim('w1', { sessionId: 'ses-2' });
    expect(fresh.body).toMatchObject({ drain: false });
    expect(fresh.body.attempts).toHaveLength(1);
  });

  it('of a worker that nobody knows is 404', async () => {
    expect(await world.call('POST', '/workers/nobody/drain')).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND', kind: 'worker' },
    });
  });
});
