import { expect, it } from 'vitest';
import { World } from './world.ts';

it('takes a task from submit to its result', async () => {
  const world = await World.start();
  const { task, attempt } = await world.running();
  expect(attempt).toMatchObject({
    fence: 1,
    attempt: 1,
    input: { name: 'Ada' },
    effectKey: task.id,
    leaseMs: 30_000,
    effectSafety: 'pure',
    cancelRequested: false,
  });
  expect((await world.gate(attempt)).body).toMatchObject({
    accepted: true,
    op: 'start',
    fence: 1,
    leaseMs: 30_000,
  });
  expect((await world.report(attempt, 'complete', { result: { hello: 'Ada' } })).body).toEqual({
    accepted: true,
    attemptId: attempt.attemptId,
    fence: 1,
    op: 'complete',
  });
  expect(await world.task(task.id)).toMatchObject({
    status: 'succeeded',
    result: { hello: 'Ada' },
    attempts: 1,
    seq: 4,
  });
  expect(await world.kinds(task.id)).toEqual(['submitted', 'leased', 'started', 'succeeded']);
  await world.app.stop();
});
