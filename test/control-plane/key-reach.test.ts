import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KeyKind, KeyLimits } from '../../src/contract/index.ts';
import { makeKey } from '../../src/control-plane/keys.ts';
import { World } from './world.ts';

/** How far the limits of a key reach: draining, claims sent again, hints, names, the last admin, the rate. */

let world: World;
beforeEach(async () => {
  world = await World.start();
});
afterEach(() => world.app.stop());

let made = 0;
async function limited(kind: KeyKind, limits?: KeyLimits, expiresInMs?: number): Promise<string> {
  const name = `limited ${++made}`;
  return (await makeKey(world, { kind, project: 'default', name, limits, expiresInMs })).key;
}

const want = (type: string) => [{ type, schemaVersion: 1, slots: 5, effectSafety: 'pure' }];

describe('draining', () => {
  it('is held to the pools and types that the worker serves', async () => {
    const key = await limited('task-worker');
    const body = world.claimBody('b-1', { pools: ['a', 'b'], want: want('demo/b') });
    await world.call('POST', '/claims', { key, body });
    const drain = async (limits: KeyLimits) =>
      world.call('POST', '/workers/b-1/drain', { key: await limited('task-operator', limits) });
    for (const limits of [{ pools: ['a'] }, { types: ['demo/a'] }, { workerIdPrefix: 'a-' }]) {
      const refused = await drain(limits);
      expect(refused.status).toBe(403);
      expect(refused.body).toMatchObject({ code: 'SCOPE_DENIED', limit: Object.keys(limits)[0] });
    }
    expect((await world.call('GET', '/workers/b-1')).body.state).not.toBe('draining');
    const all = { pools: ['a', 'b'], types: ['demo/b@1'], workerIdPrefix: 'b-' };
    expect((await drain(all)).body).toEqual({ workerId: 'b-1', drainRequested: true });
  });
});

describe('what people decide about a task', () => {
  it('goes by its pool and type, not by the worker that happens to run it', async () => {
    const { task } = await world.running({}, {}, 'b-2');
    const key = await limited('task-operator', { workerIdPrefix: 'a-' });
    const done = await world.call('POST', `/tasks/${task.id}/cancel`, { key, body: {} });
    expect(done.status).toBe(200);
  });
});

describe('a claim that is sent again', () => {
  it('gives a narrower key nothing beyond its limits, and renews nothing', async () => {
    const submitted = await world.submit({ type: 'demo/b', pool: 'b' });
    const wide = await limited('task-worker');
    const body = world.claimBody('w1', { pools: ['a', 'b'], want: want('demo/b') });
    const first = await world.call('POST', '/claims', { key: wide, body });
    expect(first.body.attempts).toHaveLength(1);
    const narrow = { ...body, pools: ['a'], want: want('demo/a') };
    for (const limits of [{ pools: ['a'] }, { types: ['demo/a'] }]) {
      const replay = await world.call('POST', '/claims', {
        key: await limited('task-worker', limits),
        body: narrow,
      });
      expect(replay.status).toBe(403);
      expect(replay.text).not.toContain('leaseToken');
    }
    const again = await world.call('POST', '/claims', { key: wide, body });
    expect(again.body.attempts).toMatchObject([{ taskId: submitted.id }]);
  });
});

describe('hints', () => {
  async function listen(worker: string, session: string, key: string) {
    const response = await world.app.fetch(
      new Request(`http://cp.test/api/tasks/v1/hints?workerId=${worker}&sessionId=${session}`, {
        headers: { authorization: `Bearer ${key}` },
      }),
    );
    let text = '';
    const read = async () => {
      const decoder = new TextDecoder();
      if (response.body) for await (const part of response.body) text += decoder.decode(part);
    };
    void read().catch(() => {});
    await world.clock.advance(0);
    return { status: response.status, heard: () => text };
  }

  it('of a living worker go to no session that another key invents', async () => {
    const own = await limited('task-worker');
    await world.call('POST', '/claims', { key: own, body: world.claimBody('b-1') });
    const other = await limited('task-worker', { pools: ['a'] });
    expect((await listen('b-1', 'invented', other)).status).toBe(409);
    expect((await listen('b-1', 'ses-b-1', own)).status).toBe(200);
  });

  it('wake no session that has shown nothing, and it counts as no worker that waits', async () => {
    const key = await limited('task-worker');
    await world.call('POST', '/claims', { key, body: world.claimBody('w1') });
    const invented = await listen('w1', 'invented', key);
    expect(invented.status).toBe(200);
    await world.submit();
    await world.clock.advance(10);
    expect(invented.heard()).not.toContain('event: wake');
  });

  it('wake nobody for what its key could not claim', async () => {
    const wide = await limited('task-worker');
    const body = world.claimBody('w1', { pools: ['a', 'b'] });
    await world.call('POST', '/claims', { key: wide, body });
    const narrow = await listen('w1', 'ses-w1', await limited('task-worker', { pools: ['a'] }));
    expect(narrow.status).toBe(200);
    await world.submit({ pool: 'b' });
    await world.clock.advance(10);
    expect(narrow.heard()).not.toContain('event: wake');
    await world.submit({ pool: 'a' });
    await world.clock.advance(10);
    expect(narrow.heard()).toContain('event: wake');
  });
});

describe('the last admin key', () => {
  it('is one that lasts: others that end within a day do not count', async () => {
    const lasting = await makeKey(world, { kind: 'admin', project: 'default', name: 'lasting' });
    const short = await limited('admin', undefined, 3_600_000);
    const revoke = (id: string, key: string) => world.call('DELETE', `/keys/${id}`, { key });
    const refused = await revoke(lasting.row.id, short);
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toContain('those that end within a day do not count');
    await limited('admin', undefined, 48 * 3_600_000);
    expect((await revoke(lasting.row.id, short)).status).toBe(200);
  });
});

describe('the name of a key', () => {
  it('holds no control characters and nothing that looks like a key', async () => {
    const admin = await limited('admin');
    const make = (name: string) =>
      world.call('POST', '/keys', { key: admin, body: { name, kind: 'metrics' } });
    for (const name of ['a\u001b[2Jb', 'a\nb', 'a\u0000', 'a\u202eb', `for ${admin}`]) {
      const refused = await make(name);
      expect(refused.status).toBe(400);
      expect(refused.body.issues).toMatchObject([{ path: 'name' }]);
      expect(refused.text).not.toContain(admin);
    }
    expect((await make('Größe 東京 👩‍🔧 il_short')).status).toBe(201);
  });
});

describe('a low rate', () => {
  it('leaves presence and reports alone, and counts claims and doctor', async () => {
    const key = await limited('task-worker', { requestsPerMinute: 1 });
    const presence = {
      sessionId: 'ses-w1',
      state: 'ready',
      slots: { max: 1, busy: 0 },
      pools: ['default'],
      handlersHash: 'h',
      handlers: [{ type: 'demo/hello', schemaVersion: 1 }],
      versions: {},
      spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
    };
    const present = () => world.call('PUT', '/workers/w1', { key, body: presence });
    for (let i = 0; i < 20; i++) expect((await present()).status).toBe(200);
    const claim = () => world.call('POST', '/claims', { key, body: world.claimBody('w1') });
    expect((await claim()).status).toBe(200);
    expect((await claim()).status).toBe(429);
    expect((await world.call('GET', '/doctor', { key })).status).toBe(429);
    expect((await present()).status).toBe(200);
  });
});
