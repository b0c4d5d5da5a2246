import { afterEach, beforeEach, expect, it } from 'vitest';
import { availableIn } from '../../src/control-plane/wake.ts';
import type { Note } from '../../src/ports/store.ts';
import { type Reply, World } from './world.ts';

/** Claims that wait for work. What a worker's side of it is: test/worker/waiting-claim.test.ts. */

let world: World;
beforeEach(async () => {
  world = await World.start();
});
afterEach(() => world.app.stop());

interface Waiting {
  readonly reply: Promise<Reply>;
  answered: boolean;
}

async function waits(worker: string, more: Record<string, unknown> = {}): Promise<Waiting> {
  const body = world.claimBody(worker, { waitMs: 20_000, ...more });
  const reply = world.call('POST', '/claims', { body });
  const waiting = { reply, answered: false };
  void reply.then(() => {
    waiting.answered = true;
  });
  await world.clock.advance(0);
  return waiting;
}

/** Its caller goes with `gone`. */
async function waitsAndMayGo(worker: string) {
  const key = await world.key('task-worker');
  const gone = new AbortController();
  const reply = world.app.fetch(
    new Request('http://cp.test/api/tasks/v1/claims', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(world.claimBody(worker, { waitMs: 20_000 })),
      signal: gone.signal,
    }),
  );
  await world.clock.advance(0);
  return { reply, gone };
}

const DRAINING = {
  sessionId: 'ses-w1',
  state: 'draining',
  slots: { max: 1, busy: 0 },
  pools: ['default'],
  handlersHash: 'h',
  versions: {},
  spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
};

const taskIds = ({ body }: Reply) =>
  body.attempts.map(({ taskId }: { taskId: string }) => taskId) as string[];

it('is carried out in the commit of the submission that it waited for', async () => {
  await world.key('task-producer');
  const waiting = await waits('w1');
  await world.clock.advance(7_000);
  expect(waiting.answered).toBe(false);
  const { commits } = world.store.stats;
  const { id } = await world.submit();
  const reply = await waiting.reply;
  expect(taskIds(reply)).toEqual([id]);
  expect(reply.body.waitedMs).toBe(7_000);
  expect(world.store.stats.commits).toBe(commits + 1);
});

it('gives each task to one of those that wait, the longest first, and lets the others wait on', async () => {
  const all = [await waits('w1'), await waits('w2'), await waits('w3')];
  const first = await world.submit();
  expect(taskIds(await (all[0] as Waiting).reply)).toEqual([first.id]);
  await world.clock.advance(0);
  expect(all.map(({ answered }) => answered)).toEqual([true, false, false]);
  const second = await world.submit();
  expect(taskIds(await (all[1] as Waiting).reply)).toEqual([second.id]);
});

it('gets nothing of another type, and what it waited for when that becomes due', async () => {
  const waiting = await waits('w1');
  await world.submit({ type: 'demo/other' });
  const later = await world.submit({
    notBeforeAt: new Date(world.clock.wall() + 5_000).toISOString(),
  });
  await world.clock.advance(4_000);
  expect(waiting.answered).toBe(false);
  await world.clock.advance(2_000);
  expect(taskIds(await waiting.reply)).toEqual([later.id]);
});

it('is answered empty when its time is over, and remembered like any other', async () => {
  const requestId = 'req-in-vain';
  const waiting = await waits('w1', { requestId });
  await world.clock.advance(20_000);
  const reply = await waiting.reply;
  expect(reply.body.attempts).toEqual([]);
  await world.submit();
  const again = await world.call('POST', '/claims', { body: world.claimBody('w1', { requestId }) });
  expect(taskIds(again)).toEqual([]);
});

it('writes nothing while it waits', async () => {
  await world.claim('w1');
  const requestId = 'req-waits';
  await waits('w1', { requestId });
  const kept = await world.store.write((tx) =>
    tx.claimed({ project: 'default', workerId: 'w1', sessionId: 'ses-w1', requestId }),
  );
  expect(kept).toBeUndefined();
});

it('ends by a claim of its session, and gets nothing after that', async () => {
  const requestId = 'req-ended';
  const waiting = await waits('w1', { requestId });
  const last = await world.call('POST', '/claims', {
    body: world.claimBody('w1', { requestId, max: 0 }),
  });
  expect(taskIds(last)).toEqual([]);
  expect(taskIds(await waiting.reply)).toEqual([]);
  const { id } = await world.submit();
  const late = await waits('w1', { requestId });
  expect(taskIds(await late.reply)).toEqual([]);
  expect((await world.claim('w2'))[0]?.taskId ?? '').toBe(id);
});

it.each(['draining', 'offline'])('ends where its worker says that it is %s', async (state) => {
  const waiting = await waits('w1');
  const presence = { ...DRAINING, state };
  expect((await world.call('PUT', '/workers/w1', { body: presence })).status).toBe(200);
  await world.clock.advance(0);
  expect(waiting.answered).toBe(true);
  expect(taskIds(await waiting.reply)).toEqual([]);
  const { id } = await world.submit();
  expect((await world.task(id)).status).toBe('queued');
  expect((await world.call('GET', '/workers/w1')).body.state).toBe(state);
});

it('does not wait for a worker that says it drains', async () => {
  await world.claim('w1');
  expect((await world.call('PUT', '/workers/w1', { body: DRAINING })).status).toBe(200);
  const waiting = await waits('w1');
  expect(waiting.answered).toBe(true);
});

it('gets nothing once its caller has gone', async () => {
  const { reply, gone } = await waitsAndMayGo('w1');
  gone.abort();
  await reply;
  await world.submit();
  expect((await world.claim('w2'))[0]?.fence).toBe(1);
});

it('ends with its key, its session, a drain, and the control plane, with nothing granted', async () => {
  const key = await world.key('task-worker', 'default', 'to be revoked');
  const body = world.claimBody('w1', { waitMs: 20_000 });
  const ofKey = world.call('POST', '/claims', { key, body });
  await world.clock.advance(0);
  const keys = (await world.call('GET', '/keys')).body.keys as { id: string; name: string }[];
  const { id } = keys.find(({ name }) => name === 'to be revoked') as { id: string };
  await world.call('DELETE', `/keys/${id}`);
  expect((await ofKey).status).toBe(401);

  const ofSession = await waits('w2');
  await world.call('POST', '/claims', { body: world.claimBody('w2', { sessionId: 'ses-next' }) });
  expect((await ofSession.reply).body.code).toBe('SESSION_SUPERSEDED');

  const drained = await waits('w3');
  await world.call('POST', '/workers/w3/drain', { body: {} });
  expect((await drained.reply).body).toMatchObject({ attempts: [], drain: true });

  const stopped = await waits('w4');
  await world.app.stop();
  expect((await stopped.reply).body).toMatchObject({ attempts: [], drain: false });
});

it('leaves nothing to be hinted at of what was given to those that waited', () => {
  const spot = { project: 'default', pool: 'default', type: 'demo/hello', schemaVersion: 1 };
  const [available, given] = (['available', 'given'] as const).map((kind) => ({ kind, ...spot }));
  if (!available || !given) throw new Error('never');
  const tasks = (notes: Note[]) => [...availableIn(notes)].map((one) => one.tasks);
  expect(tasks([available, available, given])).toEqual([1]);
  expect(tasks([available, given, { ...available, type: 'demo/other' }])).toEqual([0, 1]);
});

it('is woken by submissions that fill a group', async () => {
  await world.key('task-producer');
  const waiting = await waits('w1', { max: 10 });
  const batch = Array.from({ length: 100 }, () => ({
    type: 'demo/hello',
    schemaVersion: 1,
    input: 1,
  }));
  await Promise.all(
    Array.from({ length: 6 }, () => world.call('POST', '/tasks/batch', { body: batch })),
  );
  await world.clock.advance(0);
  expect(waiting.answered).toBe(true);
  expect(taskIds(await waiting.reply)).toHaveLength(10);
});

it('tells how long it waited also where work comes with the end of its time', async () => {
  const waiting = await waits('w1');
  await world.clock.advance(19_999);
  await world.submit({ notBeforeAt: new Date(world.clock.wall() + 1).toISOString() });
  await world.clock.advance(1);
  const { body } = await waiting.reply;
  expect(body.attempts).toHaveLength(1);
  expect(body.waitedMs).toBe(20_000);
});

it('does not wait where what there is has run out of time, with more behind it', async () => {
  await world.key('task-producer');
  await world.claim('w1');
  // The sweep that ends the first comes after the claim.
  const claimed = Promise.withResolvers<Waiting>();
  world.clock.timer(2_000, () => void waits('w1').then(claimed.resolve));
  await world.submit({ policy: { queueTimeoutMs: 2_000 } });
  await world.submit();
  await world.clock.advance(2_000);
  const waiting = await claimed.promise;
  expect(waiting.answered).toBe(true);
  expect(taskIds(await waiting.reply)).toEqual([]);
});

it('does not wait where what there is had better run elsewhere', async () => {
  const { status } = await world.app.fetch(
    new Request('http://cp.test/api/tasks/v1/hints?workerId=w2&sessionId=ses-w2', {
      headers: { authorization: `Bearer ${await world.key('task-worker')}` },
    }),
  );
  expect(status).toBe(200);
  await world.claim('w2', { max: 5 });
  await world.submit({ policy: { maxAttempts: 5, backoff: { initialMs: 100, maxMs: 100 } } });
  const [attempt] = await world.claim('w1');
  await world.gate(attempt);
  await world.submit();
  const error = { code: 'HOST_GPU', message: 'x', retryable: true };
  await world.report(attempt, 'fail', { error });
  await world.clock.advance(1_500);
  const waiting = await waits('w1');
  expect(waiting.answered).toBe(true);
});

it('gets nothing by a key that another process has revoked', async () => {
  const { key, id } = await keyOfOne();
  const reply = world.call('POST', '/claims', {
    key,
    body: world.claimBody('w1', { waitMs: 20_000 }),
  });
  await world.clock.advance(0);
  // No note of it comes here.
  await world.store.write((tx) => tx.revokeKey(id));
  const { id: taskId } = await world.submit();
  expect((await reply).status).toBe(401);
  expect((await world.task(taskId)).status).toBe('queued');
});

it('gets nothing by a key that ends with its time', async () => {
  const { key, id } = await keyOfOne();
  const body = world.claimBody('w1', { waitMs: 20_000 });
  const reply = world.call('POST', '/claims', { key, body });
  await world.clock.advance(19_999);
  await world.store.write((tx) => tx.revokeKey(id));
  const notBeforeAt = new Date(world.clock.wall() + 1).toISOString();
  const { id: taskId } = await world.submit({ notBeforeAt });
  await world.clock.advance(1);
  expect((await reply).status).toBe(401);
  expect((await world.task(taskId)).status).toBe('queued');
});

it('gets nothing where its caller goes between the look that was asked for and that look', async () => {
  await world.key('task-producer');
  const { reply, gone } = await waitsAndMayGo('w1');
  // After the claims that wait were told.
  const end = world.store.subscribe(
    () => {},
    undefined,
    () => gone.abort(),
  );
  const { id } = await world.submit();
  end();
  await reply;
  expect((await world.task(id)).status).toBe('queued');
});

it('writes nothing when the control plane stops', async () => {
  const all = [await waits('w1'), await waits('w2'), await waits('w3')];
  const { commands } = world.store.stats;
  await world.app.stop();
  for (const { reply } of all) expect((await reply).body.attempts).toEqual([]);
  // That one says when which key was used last.
  expect(world.store.stats.commands).toBe(commands + 1);
});

async function keyOfOne(): Promise<{ key: string; id: string }> {
  const key = await world.key('task-worker', 'default', 'of one');
  const { keys } = (await world.call('GET', '/keys')).body;
  const { id } = keys.find(({ name }: { name: string }) => name === 'of one');
  return { key, id };
}
