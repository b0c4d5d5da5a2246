import { beforeEach, describe, expect, it } from 'vitest';
import {
  doctorAnswer,
  presenceAnswer,
  taskList,
  typeList,
  workerList,
} from '../../src/contract/index.ts';
import { World } from './world.ts';

/** Workers as people see them, and the words in which a task says why it waits. */

let world: World;
beforeEach(async () => {
  world = await World.start();
});

const HELLO = { type: 'demo/hello', schemaVersion: 1, effectSafety: 'pure' };
const HELLO_NAME = { type: 'demo/hello', schemaVersion: 1 };
const put = (worker: string, more: Record<string, unknown> = {}) =>
  world.call('PUT', `/workers/${worker}`, {
    body: {
      sessionId: `ses-${worker}`,
      state: 'ready',
      slots: { max: 2, busy: 0 },
      pools: ['default'],
      handlersHash: 'h1',
      handlers: [HELLO],
      versions: { worker: '0.1.0' },
      spool: { pending: 1, bytes: 200, oldestMs: 5, ok: true },
      ...more,
    },
  });
const view = async (worker = 'w1') => (await world.call('GET', `/workers/${worker}`)).body;

describe('presence', () => {
  it('is answered with the times to keep and asks for handlers that are not known', async () => {
    const first = await put('w1', { handlers: undefined });
    expect(presenceAnswer.parse(first.body)).toEqual({
      serverTime: '2026-01-01T00:00:00.000Z',
      project: 'default',
      presentAfterMs: 15_000,
      offlineAfterMs: 45_000,
      needHandlers: true,
      drain: false,
    });
    expect((await put('w1', { handlers: undefined })).body.needHandlers).toBe(true);
    expect((await put('w1')).body.needHandlers).toBe(false);
    expect((await put('w1', { handlers: undefined })).body.needHandlers).toBe(false);
    expect((await put('w1', { handlers: undefined, handlersHash: 'h2' })).body.needHandlers).toBe(
      true,
    );
    // A new process is asked anew: its handlers may differ though nobody says so.
    expect((await put('w1', { sessionId: 'x', handlers: undefined })).body.needHandlers).toBe(true);
  });

  it('is refused for what is no worker id and for what is no presence', async () => {
    expect(await put('a%2Fb')).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'workerId' }] },
    });
    expect((await put('w1', { slots: { max: -1, busy: 0 } })).body.issues[0].path).toBe(
      'slots.max',
    );
    expect((await put('w1', { state: 'asleep' })).status).toBe(400);
  });
});

describe('a worker', () => {
  it('tells its state in words', async () => {
    await put('w1');
    expect(await view()).toMatchObject({
      state: 'ready',
      words: 'ready: 0 of 2 slots are working',
      slots: { max: 2, busy: 0 },
      pools: ['default'],
      versions: { worker: '0.1.0' },
      spool: { pending: 1, bytes: 200, oldestMs: 5, ok: true },
      handlers: [{ ...HELLO, effectGate: 'start' }],
      attempts: [],
    });
    const [first, second] = [await world.running(), await world.running()];
    expect(await view()).toMatchObject({
      state: 'full',
      words: 'full: all 2 slots are working',
      slots: { max: 2, busy: 2 },
      attempts: [{ taskId: first.task.id }, { taskId: second.task.id }],
    });
    await world.report(first.attempt, 'complete', { result: 1 });
    expect((await view()).words).toBe('ready: 1 of 2 slots are working');
    await put('w1', { state: 'draining', slots: { max: 2, busy: 1 } });
    expect((await view()).words).toBe('draining: finishes 1 task, claims no more');
    await world.report(second.attempt, 'complete', { result: 1 });
    expect((await view()).words).toBe('draining: has nothing left to do, claims no more');
    await put('w1', { state: 'offline' });
    await world.clock.advance(4_000);
    expect(await view()).toMatchObject({
      state: 'offline',
      words: 'offline: it said goodbye 4 s ago',
    });
  });

  it('is full as long as a handler holds the slot, also when its attempt is over', async () => {
    await put('w1', { slots: { max: 1, busy: 0 } });
    const { attempt } = await world.running();
    await put('w1', { slots: { max: 1, busy: 1 }, state: 'full' });
    expect((await view()).words).toBe('full: its slot is working');
    await world.report(attempt, 'lost', { reason: 'timeout', begun: true, killed: true });
    await put('w1', {
      slots: { max: 1, busy: 1 },
      state: 'full',
      stuck: [{ ...HELLO_NAME, taskId: 'tsk_1', attemptId: 'att_1', pids: [7] }],
    });
    expect(await view()).toMatchObject({
      state: 'full',
      words: 'full: its slot is working; 1 handler does not go and keeps its slot',
      stuck: [{ type: 'demo/hello', taskId: 'tsk_1', pids: [7] }],
    });
  });

  it('is offline after three missed presences; a claim or a renewal counts as one', async () => {
    await put('w1');
    const { attempt } = await world.running();
    await world.clock.advance(28_000);
    await world.report(attempt, 'renew');
    await world.clock.advance(28_000);
    expect((await view()).state).toBe('ready');
    await world.claim();
    await world.clock.advance(44_000);
    expect((await view()).state).toBe('ready');
    await world.clock.advance(2_000);
    expect(await view()).toMatchObject({ state: 'offline', words: 'offline: last seen 46 s ago' });
    await world.claim();
    expect((await view()).state).toBe('ready');
  });

  it('says why it claims nothing, how its clock goes, and that it was asked to drain', async () => {
    await put('w1', { notClaiming: 'the spool is full', sentAt: '2026-01-01T00:00:03.000Z' });
    expect(await view()).toMatchObject({
      words: 'ready, but claims nothing: the spool is full',
      clockOffsetMs: 3_000,
    });
    await put('w1');
    await world.call('POST', '/workers/w1/drain');
    expect(await view()).toMatchObject({
      drainRequested: true,
      words: 'ready: 0 of 2 slots are working; it was asked to drain',
    });
  });

  it('says which types it leaves alone, for how much longer, and doctor does too', async () => {
    const why = 'it failed here for reasons of this host: no card';
    await put('w1', { pausedTypes: [{ ...HELLO_NAME, why, forMs: 8_000, failures: 1 }] });
    await world.clock.advance(3_000);
    expect(await view()).toMatchObject({
      state: 'ready',
      words: 'ready: 0 of 2 slots are working; 1 type is paused',
      pausedTypes: [{ type: 'demo/hello', schemaVersion: 1, why, forMs: 5_000, failures: 1 }],
    });
    const troubles = async () => {
      const { body } = await world.call('GET', '/doctor', { key: await world.key('task-worker') });
      return doctorAnswer.parse(body).troubles;
    };
    expect(await troubles()).toEqual([
      { workerId: 'w1', says: `demo/hello@1 is paused for 5 s: ${why}` },
    ]);
    const { id } = await world.submit();
    const task = (await world.call('GET', `/tasks/${id}`)).body as { waitingFor?: string };
    expect(task.waitingFor).toBe(
      `1 worker, not claiming (w1: demo/hello@1 is paused for 5 s: ${why})`,
    );
    await world.clock.advance(6_000);
    expect((await troubles())[0]?.says).toContain('is tried again with its next task');
    await put('w1', { state: 'offline' });
    expect(await troubles()).toEqual([]);
  });

  it('says which files it cannot serve: its view, doctor and the task that waits for one', async () => {
    const why = 'broken/load@1.mjs: it does not load: Error: no DATABASE_URL. Correct the file.';
    const one = { type: 'broken/load', schemaVersion: 1, file: 'broken/load@1.mjs', why };
    const unservedHandlers = [{ ...one, since: '2026-01-01T00:00:00.000Z' }];
    await put('w1', { unservedHandlers });
    expect(await view()).toMatchObject({ state: 'ready', unservedHandlers });
    const { body } = await world.call('GET', '/doctor', { key: await world.key('task-worker') });
    expect(doctorAnswer.parse(body).troubles).toEqual([
      { workerId: 'w1', says: `broken/load@1 is not served: ${why}` },
    ]);
    const { id } = await world.submit({ type: 'broken/load' });
    const task = (await world.call('GET', `/tasks/${id}`)).body as { waitingFor?: string };
    expect(task.waitingFor).toBe(
      `no worker for broken/load@1 in pool default: w1 does not serve it: ${why}`,
    );
    await put('w1', { unservedHandlers: 'what does not fit' });
    expect(await view()).not.toHaveProperty('unservedHandlers');
  });

  it('whose key was revoked or has expired is told as such at once, by name, and until it speaks with another', async () => {
    const worker = await world.key('task-worker', 'default', 'gw1');
    const say = (key: string, more: Record<string, unknown> = {}) =>
      world.call('PUT', '/workers/w1', {
        key,
        body: {
          sessionId: 'ses-w1',
          state: 'ready',
          slots: { max: 2, busy: 0 },
          pools: ['default'],
          handlersHash: 'h1',
          handlers: [HELLO],
          versions: {},
          spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
          ...more,
        },
      });
    const doctor = async () => doctorAnswer.parse((await world.call('GET', '/doctor')).body);
    await say(worker);
    const { id: taskId } = await world.submit();
    const waits = async () => (await world.call('GET', `/tasks/${taskId}`)).body.waitingFor;
    expect(await waits()).toContain('ready: it should be claimed');
    const { keys } = (await world.call('GET', '/keys')).body;
    const { id } = keys.find(({ name }: { name: string }) => name === 'gw1');
    await world.clock.advance(1_000);
    await world.call('DELETE', `/keys/${id}`);
    const says =
      'was last heard with the key "gw1", which was revoked at 2026-01-01T00:00:01.000Z: give it a new one, in its key file or, where it has none, in INTERLOCK_WORKER_KEY and with a new start';
    expect(await doctor()).toMatchObject({
      workers: { ready: 1 },
      troubles: [{ workerId: 'w1', says }],
    });
    expect((await view()).words).toBe(`ready: 0 of 2 slots are working; it ${says}`);
    expect(await waits()).toBe(`1 worker, not claiming (w1: it ${says})`);
    await world.clock.advance(95_000);
    expect((await view()).words).toBe(`offline: last seen 1 min 36 s ago; it ${says}`);
    expect((await doctor()).troubles).toEqual([{ workerId: 'w1', says }]);
    expect((await doctor()).troubles.map(({ says }) => says).join()).not.toContain('il_');
    // The next key has an end: it is told when it has come.
    const short = await world.call('POST', '/keys', {
      body: { name: 'gw2', kind: 'task-worker', expiresInMs: 60_000 },
    });
    await say(short.body.key);
    expect((await doctor()).troubles).toEqual([]);
    await world.clock.advance(61_000);
    expect((await doctor()).troubles[0]?.says).toContain('key "gw2", which has expired at ');
    // One that said goodbye wants no key.
    await say(await world.key('task-worker'));
    expect((await view()).state).toBe('ready');
    const third = await world.call('POST', '/keys', {
      body: { name: 'gw3', kind: 'task-worker', expiresInMs: 60_000 },
    });
    await say(third.body.key, { state: 'offline' });
    await world.clock.advance(61_000);
    expect((await doctor()).troubles).toEqual([]);
    expect((await view()).words).toBe('offline: it said goodbye 1 min 1 s ago');
  });

  it('that has only claimed so far is known by that', async () => {
    await world.claim('w1', { max: 3 });
    expect(await view()).toMatchObject({
      state: 'ready',
      slots: { max: 3, busy: 0 },
      handlers: [{ type: 'demo/hello', schemaVersion: 1 }],
    });
    expect(workerList.parse((await world.call('GET', '/workers')).body).workers).toHaveLength(1);
    expect((await world.call('GET', '/workers/nobody')).body).toMatchObject({
      code: 'NOT_FOUND',
      kind: 'worker',
    });
  });

  it('shows its session ids in no view', async () => {
    await put('w1');
    await world.claim('w1', { earlierSessions: ['ses-older'] });
    const reader = await world.key('admin');
    for (const path of ['/workers', '/workers/w1', '/types', '/doctor', '/tasks'])
      expect((await world.call('GET', path, { key: reader })).text).not.toContain('ses-');
  });

  it('is forgotten after a day', async () => {
    world = await World.start({ timing: { sweepEveryMs: 60_000 } });
    await put('w1');
    await world.clock.advance(25 * 3_600_000);
    expect((await world.call('GET', '/workers')).body.workers).toEqual([]);
  });
});

describe('waitingFor', () => {
  const waits = async (id: string) => (await world.task(id)).waitingFor;

  it('names who could take the task and why nobody does', async () => {
    const { id } = await world.submit();
    expect(await waits(id)).toBe('no worker for demo/hello@1 in pool default');
    await put('w1', { handlers: [{ ...HELLO, schemaVersion: 2 }] });
    expect(await waits(id)).toContain('served there: demo/hello@2');
    await put('w1', { handlersHash: 'h3', pools: ['gpu'], handlers: [HELLO] });
    expect(await waits(id)).toContain('w1 serves it in pool gpu');
    await put('w1', {
      pools: ['default'],
      handlersHash: 'h4',
      handlers: [{ ...HELLO, type: 'demo/Hello' }],
    });
    expect(await waits(id)).toContain('another case: demo/Hello@1');
    await put('w1', { slots: { max: 1, busy: 1 } });
    await put('w2', { slots: { max: 1, busy: 1 } });
    expect(await waits(id)).toBe('2 workers, all full');
    await put('w2', { state: 'draining' });
    expect(await waits(id)).toBe('2 workers: 1 full, 1 draining');
    await put('w1', { slots: { max: 1, busy: 0 }, notClaiming: 'the spool is full' });
    await put('w2', { state: 'offline' });
    expect(await waits(id)).toBe('1 worker, not claiming (w1: the spool is full)');
    await world.clock.advance(46_000);
    expect(await waits(id)).toBe('no worker for demo/hello@1 in pool default: w1, w2 are offline');
  });

  it('is the same in a list, and gone once the task runs', async () => {
    await put('w1');
    const { id } = await world.submit();
    const list = taskList.parse((await world.call('GET', '/tasks')).body);
    expect(list.tasks[0]?.waitingFor).toBe(
      '1 worker, w1 ready: it should be claimed within seconds',
    );
    await world.claim();
    expect(await waits(id)).toBeUndefined();
  });
});

describe('types and doctor', () => {
  it('tell what waits and who serves it', async () => {
    await put('w1', {
      handlers: [
        { ...HELLO, inputSchema: { type: 'object' } },
        { type: 'demo/idle', schemaVersion: 1 },
      ],
    });
    await put('w2', {
      slots: { max: 3, busy: 0 },
      handlersHash: 'h2',
      handlers: [{ ...HELLO, effectSafety: 'idempotent' }],
    });
    await world.running();
    await world.submit();
    await world.submit({ type: 'demo/lost', pool: 'gpu', notBeforeAt: '2026-01-02T00:00:00.000Z' });
    await world.clock.advance(2_000);
    const { types } = typeList.parse((await world.call('GET', '/types')).body);
    expect(types).toEqual([
      {
        type: 'demo/hello',
        schemaVersion: 1,
        pools: ['default'],
        queued: 1,
        running: 1,
        oldestQueuedMs: 2_000,
        workers: ['w1', 'w2'],
        slots: 5,
        effectSafety: ['pure', 'idempotent'],
        inputSchema: { type: 'object' },
      },
      expect.objectContaining({
        type: 'demo/idle',
        queued: 0,
        oldestQueuedMs: null,
        workers: ['w1'],
      }),
      expect.objectContaining({
        type: 'demo/lost',
        pools: ['gpu'],
        queued: 1,
        workers: [],
        slots: 0,
      }),
    ]);
    for (const kind of ['task-producer', 'task-worker', 'task-operator', 'admin'] as const) {
      const { body } = await world.call('GET', '/doctor', { key: await world.key(kind) });
      expect(doctorAnswer.parse(body)).toEqual({
        serverTime: '2026-01-01T00:00:02.000Z',
        project: 'default',
        keyKind: kind,
        queueDepth: 2,
        oldestQueuedMs: 2_000,
        workers: { ready: 2, full: 0, draining: 0, offline: 0 },
        outboxDebt: 0,
        troubles: [],
      });
    }
  });
});
