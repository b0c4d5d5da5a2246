import { expect, it } from 'vitest';
import { World } from './world.ts';

/** F51: strict priority or one busy type starves nobody, and the queue tells the true reason. */

it('starts an old task within 3 minutes and one task, though more priority comes all the time', async () => {
  const world = await World.start();
  // One slot that is kept busy: a priority-3 task every 200 ms, each takes 200 ms.
  await world.submit({ priority: 3 });
  const old = await world.submit();
  const began = world.clock.now();
  let startedAfterMs: number | undefined;
  while (startedAfterMs === undefined && world.clock.now() - began < 600_000) {
    await world.submit({ priority: 3 });
    const [attempt] = await world.claim();
    if (attempt?.taskId === old.id) startedAfterMs = world.clock.now() - began;
    await world.clock.advance(200);
    if (attempt) await world.report(attempt, 'complete', { result: null });
  }
  expect(startedAfterMs).toBeGreaterThan(170_000);
  expect(startedAfterMs).toBeLessThanOrEqual(180_000 + 200);
});

it('puts nothing of priority 3 before a task that is more than 3 minutes older, however long the queue', async () => {
  const world = await World.start();
  const old = await world.submit();
  const early: string[] = [];
  for (let i = 0; i < 3; i++) {
    await world.clock.advance(50_000);
    early.push((await world.submit({ priority: 3 })).id);
  }
  await world.clock.advance(50_000);
  await world.submit({ priority: 3 });
  const order = (await world.claim('w1', { max: 5 })).map(({ taskId }) => taskId);
  expect(order.slice(0, 4)).toEqual([...early, old.id]);
});

it('holds one type not behind a flood of another that nobody serves', async () => {
  const world = await World.start();
  for (let i = 0; i < 300; i++) await world.submit({ type: 'demo/flood', priority: 50 });
  const b = await world.submit({ type: 'demo/b' });
  const [attempt] = await world.claim('w1', {
    want: [{ type: 'demo/b', schemaVersion: 1, slots: 1 }],
  });
  expect(attempt.taskId).toBe(b.id);
  const { body } = await world.call('GET', '/tasks?type=demo/flood&limit=1');
  expect(body.tasks[0].waitingFor).toBe('no worker for demo/flood@1 in pool default');
});
