/** Handlers that say 200 MB, leave processes behind and hear no stop: the agent stays small, the drain ends, nothing is left. */
import { expect } from 'vitest';
import { until } from '../e2e/processes.ts';
import { LEASE_MS, World } from '../e2e/world.ts';
import { HANDLERS } from './ledger.ts';
import { harmful, memoryOf } from './machine.ts';
import { rounds } from './rounds.ts';

const INTO = ['stdout', 'stderr', 'lines', 'log'] as const;
const MEGABYTES = 200;
const DRAIN_MS = 5_000;
/** Above what an agent takes that does nothing, about 100 MiB. */
const PEAK_MIB = 300;

harmful(
  `drains in time and leaves nothing behind, with ${MEGABYTES} MB said into each of ${INTO.join(', ')}, deaf handlers and processes that went away (F41, F11)`,
  async () => {
    for (let round = 0; round < rounds(1, 5); round++) {
      await using world = new World();
      await world.controlPlane('task-producer', 'task-worker');
      const worker = await world.worker({
        max: INTO.length + 1,
        handlers: HANDLERS,
        args: ['--drain-timeout', `${DRAIN_MS}ms`, '--stop-grace', '1s'],
      });
      const policy = { leaseMs: LEASE_MS };
      const tasks = await Promise.all(
        INTO.map((into) => {
          const input = { file: world.path(into), megabytes: MEGABYTES, into };
          return world.producer.submit('test/floods', 1, input, { policy });
        }),
      );
      await Promise.all(tasks.map(({ id }) => world.entry(id, 'started')));
      const input = { file: world.path('neighbour') };
      const neighbour = await world.producer.submit('test/once', 1, input, { policy });
      expect(await world.producer.await(neighbour, { timeoutMs: 60_000 })).toMatchObject({
        status: 'succeeded',
        attempts: 1,
      });
      await until(
        () => INTO.every((into) => world.lines(into).length > 0),
        'end of floods',
        90_000,
      );
      const { peak } = memoryOf(worker.pid);
      // Two left behind each, and one that has a child of its own.
      expect(world.processes.left().length).toBeGreaterThanOrEqual(2 + INTO.length * 5);

      worker.kill('SIGTERM');
      const from = performance.now();
      expect(await worker.ending()).toEqual({ code: 0, signal: null });
      const took = Math.round(performance.now() - from);
      console.log(
        `floods: the agent had at most ${peak} MiB; gone ${took} ms after SIGTERM (limit ${DRAIN_MS} ms)`,
      );
      expect(peak).toBeLessThan(PEAK_MIB);
      // To the second it is tried in the tests of the drain; here twenty processes have to be found and ended as well.
      expect(took).toBeLessThan(DRAIN_MS + 10_000);
      expect(world.processes.left()).toEqual([world.plane.pid]);
      for (const { id } of tasks) {
        expect(await world.producer.get(id)).toMatchObject({ status: 'queued', undelivered: 1 });
        const { data } = await world.entry(id, 'lost');
        expect(data).toMatchObject({ reason: 'drain', killed: true });
      }
    }
  },
  rounds(180_000, 600_000),
);
