import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import { World } from './world.ts';

/** A control plane whose process starts again on its database after the machine's clock was set. */
const HOUR = 3_600_000;

let folder: string;
let clock: SimulatedClock;
let random: SimulatedRandom;
let world: World;
const open = () =>
  openSqliteStore({ file: join(folder, 'tasks.db'), clock, random, sync: () => undefined });

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'interlock-clock-'));
  clock = new SimulatedClock({ wallMs: Date.UTC(2026, 0, 1, 12) });
  random = new SimulatedRandom(7);
  world = await World.start({ clock, random, store: open() });
});
afterEach(async () => {
  await world.app.stop();
  await world.store.close();
  rmSync(folder, { recursive: true, force: true });
});

const restartWithClockMoved = (byMs: number) =>
  world.restart(async () => {
    await world.store.close();
    clock.jumpWall(byMs);
    return open();
  });
const told = () => world.log.filter(({ event }) => event === 'clock.went-back');
const retryable = { error: { code: 'BUSY', message: 'later', retryable: true } };
const backoff = { backoff: { initialMs: 5_000, jitter: 0 } };

it('ends a backoff in its time although the clock went back an hour before a start', async () => {
  const { task, attempt } = await world.running({}, { policy: backoff });
  await world.report(attempt, 'fail', retryable);
  await clock.advance(2_000);
  const journal = await world.kinds(task.id);
  await restartWithClockMoved(-HOUR);
  expect((await world.task(task.id)).waitingFor).toMatch(/^retry in [1-5] s$/);
  expect(await world.claim()).toEqual([]);
  await clock.advance(5_000);
  expect(await world.claim()).toMatchObject([{ taskId: task.id, attempt: 2 }]);
  expect(told()).toMatchObject([
    {
      level: 'warn',
      text: expect.stringMatching(/3598 s .* 1 queued task keeps .* its wait, 1 worker counts as/),
      fields: { tasks: 1, workers: 1 },
    },
  ]);
  // Nothing of it is in the journal, whose times may go back while its numbers do not.
  const { body } = await world.call('GET', `/tasks/${task.id}/events`);
  const kinds = body.events.map(({ kind }: { kind: string }) => kind);
  expect(kinds).toEqual([...journal, 'leased']);
  expect(body.events.map(({ seq }: { seq: number }) => seq)).toEqual(
    [1, 2, 3, 4, 5, 6].slice(0, kinds.length),
  );
  const at = body.events.map((event: { at: string }) => Date.parse(event.at));
  expect(at.at(-1)).toBeLessThan(at[0]);
});

it('counts a queueTimeoutMs from the start on', async () => {
  const task = await world.submit({ policy: { queueTimeoutMs: 60_000 } });
  await clock.advance(30_000);
  await restartWithClockMoved(-HOUR);
  await clock.advance(59_000);
  expect((await world.task(task.id)).status).toBe('queued');
  await clock.advance(2_000);
  expect(await world.task(task.id)).toMatchObject({
    status: 'expired',
    error: { code: 'QUEUE_TIMEOUT' },
  });
});

it('lets nobody claim before the notBeforeAt of a producer, and what waits for it holds up nothing', async () => {
  const noon = Date.UTC(2026, 0, 1, 12);
  const notBeforeAt = new Date(noon + 60_000).toISOString();
  const dated = await world.submit({ notBeforeAt, priority: 100 });
  await clock.advance(90_000);
  // Its time had come, by the clock as it was.
  await restartWithClockMoved(-300_000);
  const plain = await world.submit();
  expect(await world.claim()).toMatchObject([{ taskId: plain.id }]);
  expect(await world.claim()).toEqual([]);
  await clock.advance(300_000);
  expect(await world.claim()).toMatchObject([{ taskId: dated.id }]);
});

it('hides nothing behind a task whose backoff is not over any more', async () => {
  const policy = { backoff: { initialMs: 60_000, jitter: 0 } };
  const { task, attempt } = await world.running({}, { policy, priority: 100 });
  await world.report(attempt, 'fail', retryable);
  await clock.advance(61_000);
  // Back to the middle of the backoff: it was queued before that, so nothing tells that the clock went back.
  await restartWithClockMoved(-30_000);
  const plain = await world.submit();
  expect(await world.claim()).toMatchObject([{ taskId: plain.id }]);
  await clock.advance(30_000);
  expect(await world.claim()).toMatchObject([{ taskId: task.id }]);
});

it('lets what was queued before go first, also when the clock comes back from years ahead', async () => {
  const first = await world.submit();
  const second = await world.submit();
  const { attempt } = await world.running({}, { priority: 50, policy: backoff });
  await restartWithClockMoved(-HOUR);
  await clock.advance(1_000);
  const after = await world.submit();
  // It ran at the start; queued again, it stands where its age from then on and its priority put it.
  await world.report(attempt, 'fail', retryable);
  await clock.advance(5_000);
  const claimed: string[] = [];
  for (let i = 0; i < 4; i++) claimed.push(...(await world.claim()).map(({ taskId }) => taskId));
  expect(claimed).toEqual([attempt.taskId, first.id, second.id, after.id]);
});

it('says offline of a worker that is gone, counted from the start', async () => {
  await world.claim('gone');
  await restartWithClockMoved(-HOUR);
  const state = async () => {
    const { body } = await world.call('GET', '/workers', { key: await world.key('task-operator') });
    return body.workers.find(({ workerId }: { workerId: string }) => workerId === 'gone').state;
  };
  expect(await state()).toBe('ready');
  await clock.advance(60_000);
  expect(await state()).toBe('offline');
});

it('renews no attempt for longer than its attemptTimeoutMs from the start on', async () => {
  const { attempt } = await world.running({}, { policy: { attemptTimeoutMs: 60_000 } });
  await world.gate(attempt);
  await restartWithClockMoved(-HOUR);
  for (let i = 0; i < 5; i++) {
    await clock.advance(20_000);
    expect((await world.report(attempt, 'renew')).status).toBe(200);
  }
  await clock.advance(25_000);
  expect((await world.report(attempt, 'renew')).body).toMatchObject({ code: 'LEASE_EXPIRED' });
});

it('forgets claims and sessions of a clock years ahead when their time is over from the start on, and until then none', async () => {
  await world.app.stop();
  const timing = { rememberMs: 60_000, forgetEveryMs: 5_000 };
  world = await World.start({ clock, random, store: world.store, timing });
  const body = world.claimBody();
  await world.call('POST', '/claims', { body });
  const name = {
    project: 'default',
    workerId: 'w1',
    sessionId: 'ses-w1',
    requestId: String(body.requestId),
  };
  await world.claim('w1', { sessionId: 'ses-later' });
  await restartWithClockMoved(-10 * 365 * 24 * HOUR);
  await clock.advance(50_000);
  expect(await world.store.claimed(name)).toEqual([]);
  expect(await world.store.session('default', 'w1', 'ses-w1')).toEqual({ superseded: true });
  await clock.advance(20_000);
  expect(await world.store.claimed(name)).toBeUndefined();
  expect(await world.store.session('default', 'w1', 'ses-w1')).toBeUndefined();
});

it('puts right more than one transaction takes, and once is enough', async () => {
  const small = { sweepBatch: 3 };
  await world.app.stop();
  world = await World.start({ clock, random, store: world.store, timing: small });
  for (let i = 0; i < 10; i++) await world.submit();
  await restartWithClockMoved(-HOUR);
  expect(told()).toMatchObject([{ fields: { tasks: 10 } }]);
  await clock.advance(1_000);
  await restartWithClockMoved(0);
  expect(told()).toHaveLength(1);
  expect(await world.claim('w1', { max: 10 })).toHaveLength(10);
});

it('says nothing of a clock that goes on, or that was set forward', async () => {
  const { attempt } = await world.running({}, { policy: backoff });
  await world.report(attempt, 'fail', retryable);
  await restartWithClockMoved(0);
  await restartWithClockMoved(HOUR);
  expect(told()).toEqual([]);
  expect(await world.claim()).toHaveLength(1);
});

it('gives to a claim that has waited since before the start what putting the clock right made available', async () => {
  const { id } = await world.submit();
  await world.app.stop();
  await world.store.close();
  clock.jumpWall(-HOUR);
  world = new World({ clock, random, store: open() });
  const reply = world.call('POST', '/claims', { body: world.claimBody('w1', { waitMs: 20_000 }) });
  // Until it waits.
  for (let before = -1; before !== world.store.stats.commands; await clock.advance(0)) {
    before = world.store.stats.commands;
    await new Promise(setImmediate);
  }
  let given: unknown;
  void reply.then(({ body }) => {
    given = body.attempts;
  });
  await world.app.start();
  await clock.advance(100);
  expect(given).toMatchObject([{ taskId: id }]);
});
