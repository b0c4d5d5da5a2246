import { expect, same } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import { adds, refuses, resolving, runs, unknownOutcome } from './operator-steps.ts';
import { entries, given, isNow } from './steps.ts';

const needs = ['operator-key'] as const;

/** What `resolve` takes, and late reports that an operator takes. */
export const operatorResolve: readonly ControlPlaneCase[] = [
  {
    name: 'operator/resolve-succeeded',
    title: 'takes what an operator says became of a task whose outcome is unknown',
    promises: ['6.23', '1.31'],
    needs,
    async run(world) {
      const task = await unknownOutcome(world);
      const added = await adds(world, task, async () => {
        (await resolving(world, task, 'succeeded', { result: { seen: true } })).is(200);
      });
      same(
        added.map(({ kind }) => kind),
        ['resolved'],
        'the entries of a resolve',
      );
      same((await isNow(world, task, 'succeeded')).result, { seen: true }, 'the result');
      await refuses(world, task, () => resolving(world, task, 'failed'));
    },
  },
  {
    name: 'operator/resolve-failed',
    title: 'takes that a task whose outcome is unknown has failed',
    promises: ['6.23'],
    needs,
    async run(world) {
      const task = await unknownOutcome(world);
      (await resolving(world, task, 'failed')).is(200);
      expect((await isNow(world, task, 'failed')).error, 'A task that failed has no error.');
    },
  },
  {
    name: 'operator/resolve-retry',
    title: 'puts a task whose outcome is unknown back into the queue when it is resolved so',
    promises: ['6.23'],
    needs,
    async run(world) {
      const task = await unknownOutcome(world);
      (await resolving(world, task, 'retry')).is(200);
      await runs(world, task);
    },
  },
  {
    name: 'operator/resolve-refused',
    title: 'resolves no task whose outcome is known',
    promises: ['6.23', '6.24', '1.31'],
    needs,
    async run(world) {
      const queued = await world.submit({ type: world.type('queued') });
      const { task, worker, attempt } = await given(world);
      for (const resolution of ['succeeded', 'failed', 'retry', 'late-report'])
        for (const one of [queued, task])
          await refuses(world, one, () => resolving(world, one, resolution));
      (await worker.report(attempt, 'complete', { result: 1 })).is(200);
      await refuses(world, task, () => resolving(world, task, 'failed'));
      const unknown = await unknownOutcome(world);
      await refuses(world, unknown, () => resolving(world, unknown, 'late-report'));
    },
  },
  {
    name: 'operator/late-report',
    title: 'takes the recorded report of a task whose outcome was unknown',
    promises: ['1.25', '6.23', '6.24'],
    needs,
    async run(world) {
      const { task, worker, attempt } = await given(world, {
        passed: 'start',
        leaseMs: world.leaseMinMs,
        policy: { lostGraceMs: 0, leaseMs: world.leaseMinMs },
      });
      await world.taskIn(task.id, ['outcome-unknown'], 3 * world.leaseMinMs + 20_000);
      const late = await worker.report(attempt, 'complete', { result: 'late' });
      same(late.refuses(409, 'STALE_ATTEMPT').body().recorded, true, 'recorded of the late report');
      same((await entries(world, task, 'late-report')).length, 1, 'the late-report entries');
      (await resolving(world, task, 'late-report')).is(200);
      same((await isNow(world, task, 'succeeded')).result, 'late', 'the result of the task');
    },
  },
  {
    name: 'operator/late-report-of-queued',
    title: 'takes the recorded report of a task that waits for its next attempt',
    promises: ['6.24', '1.25'],
    needs,
    async run(world) {
      const { task, worker, attempt } = await given(world, {
        effectSafety: 'idempotent',
        leaseMs: world.leaseMinMs,
        policy: { leaseMs: world.leaseMinMs },
      });
      await world.taskIn(task.id, ['queued'], 3 * world.leaseMinMs + 20_000);
      const late = await worker.report(attempt, 'complete', { result: 'late' });
      same(late.refuses(409, 'STALE_ATTEMPT').body().recorded, true, 'recorded of the late report');
      await isNow(world, task, 'queued');
      (await resolving(world, task, 'late-report')).is(200);
      same((await isNow(world, task, 'succeeded')).result, 'late', 'the result of the task');
      await refuses(world, task, () => resolving(world, task, 'late-report'));
    },
  },
];
