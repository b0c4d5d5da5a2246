/** Handlers that take every core for themselves must not cost a lease. */
import { expect, it } from 'vitest';
import { until } from './processes.ts';
import { LEASE_MS, World } from './world.ts';

it('renews all leases while 16 handlers spin on every core for four of them', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  await world.worker({ max: 16 });
  const tasks = await world.producer.submitMany(
    Array.from({ length: 16 }, () => ({
      type: 'test/spin',
      schemaVersion: 1,
      input: { ms: LEASE_MS * 4 },
      policy: { leaseMs: LEASE_MS },
    })),
  );
  const ids = tasks.map((outcome) => {
    if (!outcome.ok) throw outcome.error;
    return outcome.task.id;
  });
  await Promise.all(ids.map((id) => world.entry(id, 'started')));
  // Presence tells a change after half a second.
  const full = await until(async () => {
    const { body } = await world.call('GET', '/workers');
    return body.workers[0].state === 'full' && body.workers[0];
  }, 'full worker');
  expect(full.words).toBe('full: all 16 slots are working');
  const shown = await world.run(['tasks', 'workers']);
  expect(shown).toMatchObject({ code: 0 });
  expect(shown.out).toMatch(/^worker +full: all 16 slots are working +16\/16 /m);

  for (const id of ids) {
    const done = await world.producer.await(id, { timeoutMs: 120_000 });
    expect(done).toMatchObject({ status: 'succeeded', attempts: 1, undelivered: 0 });
    const kinds = (await world.journal(id)).map(({ kind }) => kind);
    expect(kinds).toEqual(['submitted', 'leased', 'started', 'succeeded']);
  }
});
