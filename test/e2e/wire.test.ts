/** The rules of fences, replays and sessions, as a stranger meets them by plain HTTP at a real control plane. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = new World();
  await world.controlPlane('task-producer', 'task-worker');
});
afterAll(() => world[Symbol.asyncDispose]());

/** One task and what a worker would do with it by hand. */
async function byHand(workerId: string) {
  const type = `hand/${workerId}`;
  const task = (await world.call('POST', '/tasks', { type, schemaVersion: 1, input: 1 })).body;
  const sessionId = `ses_${randomUUID().replaceAll('-', '')}`;
  const claim = async (requestId = randomUUID(), session = sessionId) => {
    const want = [{ type, schemaVersion: 1, slots: 1 }];
    const body = { workerId, sessionId: session, requestId, pools: ['default'], want, max: 1 };
    return world.call('POST', '/claims', body, { as: 'task-worker' });
  };
  // biome-ignore lint/suspicious/noExplicitAny: an attempt as it came.
  const report = (op: string, attempt: any, more: object = {}) => {
    const { taskId, attemptId, fence, leaseToken } = attempt;
    const body = { taskId, attemptId, fence, leaseToken, ...more };
    return world.call('POST', `/attempts/${attemptId}/${op}`, body, { as: 'task-worker' });
  };
  return { task, sessionId, claim, report };
}

const STALE = { status: 409, body: { status: 409, code: 'STALE_ATTEMPT' } };

it('refuses what an old attempt has to say, and a right result twice is accepted once', async () => {
  const { task, sessionId, claim, report } = await byHand('fences');
  const [old] = (await claim()).body.attempts;
  const lost = { reason: 'worker-restarted', begun: false };
  expect(await report('lost', old, lost)).toMatchObject({ status: 200 });
  const [attempt] = (await claim()).body.attempts;
  expect(attempt).toMatchObject({ taskId: task.id, fence: old.fence + 1 });

  const stale = await report('complete', old, { result: 'of the old one' });
  expect(stale).toMatchObject(STALE);
  expect(stale.headers.get('content-type')).toContain('application/problem+json');
  expect(stale.body.recorded).toBeUndefined();
  const forged = { ...attempt, fence: old.fence };
  expect(await report('complete', forged, { result: 1 })).toMatchObject(STALE);

  expect(await report('start', attempt, { sessionId })).toMatchObject({ status: 200 });
  const { attemptId, fence } = attempt;
  const accepted = { accepted: true, attemptId, fence, op: 'complete' };
  const first = await report('complete', attempt, { result: { done: 1 } });
  expect(first).toMatchObject({ status: 200, body: accepted });
  expect(first.body.replayed).toBeFalsy();
  const again = await report('complete', attempt, { result: { done: 1 } });
  expect(again).toMatchObject({ status: 200, body: { ...accepted, replayed: true } });
  expect(await report('complete', attempt, { result: { done: 2 } })).toMatchObject(STALE);
  // A gate is never opened by an answer made after the end.
  expect(await report('start', attempt, { sessionId })).toMatchObject(STALE);
  const { body } = await world.call('GET', `/tasks/${task.id}`);
  expect(body).toMatchObject({ status: 'succeeded', result: { done: 1 }, attempts: 1 });
});

it('answers a repeated claim with the same attempts, and after their end with none', async () => {
  const { claim, report } = await byHand('claims');
  const requestId = randomUUID();
  const first = (await claim(requestId)).body.attempts;
  expect(first).toHaveLength(1);
  const again = (await claim(requestId)).body.attempts;
  expect(again).toEqual(first);
  await report('complete', first[0], { result: null });
  await world.call('POST', '/tasks', { type: 'hand/claims', schemaVersion: 1, input: 2 });
  expect(await claim(requestId)).toMatchObject({ status: 200, body: { attempts: [] } });
  expect((await claim()).body.attempts).toHaveLength(1);
});

it('tells a superseded session so: its claims and its gates, while its result still counts', async () => {
  const { claim, report, sessionId } = await byHand('sessions');
  const [attempt] = (await claim()).body.attempts;
  expect((await claim(randomUUID(), 'ses_the_next')).status).toBe(200);
  const superseded = { status: 409, body: { code: 'SESSION_SUPERSEDED' } };
  expect(await claim()).toMatchObject(superseded);
  expect(await report('start', attempt, { sessionId })).toMatchObject(superseded);
  expect(await report('complete', attempt, { result: 'late but right' })).toMatchObject({
    status: 200,
    body: { accepted: true },
  });
});
