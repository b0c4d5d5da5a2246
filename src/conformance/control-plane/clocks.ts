import { expect, same } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import { said } from './presence.ts';
import {
  accepted,
  failure,
  given,
  inTime,
  isNow,
  LONG_LEASE_MS,
  steady,
  takenNotBefore,
} from './steps.ts';
import type { AttemptOffer } from './wire-shapes.ts';

const DAY_MS = 86_400_000;

/** A worker's clock is wrong by a day: nothing is decided by it. */
export const clocks: readonly ControlPlaneCase[] = [
  {
    name: 'clocks/durations',
    title: 'tells every lease as a duration in whole milliseconds',
    promises: ['1.36', '6.1'],
    async run(world) {
      const { worker, attempt } = await given(world, { policy: { leaseMs: 30_000 } });
      const told = [attempt.leaseMs];
      for (const op of ['renew', 'start'])
        told.push(Number(accepted(await worker.report(attempt, op), attempt, op).leaseMs));
      for (const ms of told)
        expect(
          Number.isInteger(ms) && ms > 0 && ms <= 30_000 + world.leaseMinMs,
          `A lease is told as ${ms}; expected is a duration of about 30000 ms.`,
        );
    },
  },
  ...Object.entries({ ahead: DAY_MS, behind: -DAY_MS }).map(
    ([name, offMs]): ControlPlaneCase => ({
      name: `clocks/worker-${name}`,
      title: `serves a worker whose clock is a day ${name} as any other`,
      promises: ['1.36', '1.37'],
      async run(world) {
        const zeroMs = (await world.serverNowMs()) - world.clock.now();
        const wrong = () => new Date(zeroMs + offMs + world.clock.now()).toISOString();
        const headers = () => ({ date: new Date(wrong()).toUTCString() });
        const worker = world.worker();
        await said(worker, world, { sentAt: wrong() });
        const shown = (await world.get(`/workers/${worker.workerId}`)).is(200).body();
        same(shown.state, 'ready', 'the state of the worker');
        const { task, dueMs } = await steady(async (turn) => {
          const sinceMs = world.clock.now();
          const policy = { leaseMs: world.leaseMinMs };
          const task = await world.submit({ type: world.type(`turn-${turn}`), policy });
          const sentAt = wrong();
          const attempt = await world.until('an attempt', async () => {
            const options = { effectSafety: 'pure', more: { sentAt } } as const;
            const claiming = worker.claiming([task.type], options);
            const seen = (await world.call({ ...claiming, headers: headers() })).is(200);
            return seen.body<{ attempts: AttemptOffer[] }>().attempts[0];
          });
          const report = async (op: string, fields: Readonly<Record<string, unknown>>) => {
            const sent = worker.reporting(attempt, op, fields);
            const seen = await world.call({ ...sent, headers: headers() });
            accepted(inTime(seen, sinceMs, attempt.leaseMs), attempt, op);
            return seen;
          };
          await report('start', { sentAt: wrong() });
          const lines = [{ at: wrong(), level: 'info', text: 'of another day' }];
          await report('log', { n: 1, lines });
          const renewed = await report('renew', { sentAt: wrong() });
          same(renewed.body().leaseMs, attempt.leaseMs, 'its lease');
          return { task, dueMs: renewed.sentAtMs + attempt.leaseMs };
        });
        // Neither sooner nor a day later.
        const other = await takenNotBefore(world, task.type, dueMs, { leaseMs: LONG_LEASE_MS });
        same(other.taskId, task.id, 'the task of the next attempt');
      },
    }),
  ),
  {
    name: 'clocks/retry-after-a-wrong-day',
    title: 'queues a task again by its own clock, whatever a worker says the time is',
    promises: ['1.37'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      const at = new Date((await world.serverNowMs()) + DAY_MS).toISOString();
      const fields = { ...failure(true, { at, details: { at } }), sentAt: at, at };
      accepted(await worker.report(attempt, 'fail', fields), attempt, 'fail');
      await worker.claimOne(task.type);
      await isNow(world, task, 'running');
    },
  },
];
