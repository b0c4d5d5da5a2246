import { expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import { TaskError } from '../../src/contract/errors.ts';
import type { Store } from '../../src/ports/store.ts';
import { openMemoryStore } from '../../src/stores/memory.ts';
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

it('takes no task from its worker because of renewals that the store could not keep', async () => {
  const clock = new SimulatedClock({ wallMs: Date.UTC(2026, 0, 1) });
  const random = new SimulatedRandom(7);
  const queue = openMemoryStore({ clock, random });
  let full = false;
  let failures = 0;
  const store: Store = new Proxy(queue, {
    get(target, name) {
      if (name === 'stats') return { ...target.stats, failures };
      const own = Reflect.get(target, name);
      if (name !== 'write') return typeof own === 'function' ? own.bind(target) : own;
      return (work: never) => {
        if (!full) return target.write(work);
        failures++;
        return Promise.reject(new TaskError('UNAVAILABLE', 'The disk is full.'));
      };
    },
  });
  const world = await World.start({ clock, random, store });
  const { task, attempt } = await world.running();
  await world.gate(attempt);
  full = true;
  expect((await world.report(attempt, 'renew')).status).toBe(503);
  await clock.advance(60_000);
  full = false;
  await clock.advance(20_000);
  expect((await world.task(task.id)).status).toBe('running');
  expect((await world.report(attempt, 'renew')).status).toBe(200);
  // A worker that says nothing afterwards loses it as ever.
  await clock.advance(31_000);
  expect(await world.kinds(task.id)).toEqual([
    'submitted',
    'leased',
    'started',
    'lost',
    'requeued',
  ]);
  await world.app.stop();
});
