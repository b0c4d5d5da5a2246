import { same } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import { adds, failed, refuses, retrying, runs, unknownOutcome } from './operator-steps.ts';
import { failure, given, isNow, soon } from './steps.ts';

const needs = ['operator-key'] as const;

/** What `retry` takes, grants and refuses. */
export const operatorRetry: readonly ControlPlaneCase[] = [
  {
    name: 'operator/retry-failed',
    title: 'puts a failed task back into the queue, with an entry and no entry rewritten',
    promises: ['6.21', '1.31', '3.1'],
    needs,
    async run(world) {
      const task = await failed(world);
      const added = await adds(world, task, async () => {
        const seen = (await retrying(world, task)).is(200);
        same(seen.body().status, 'queued', 'the status in the answer');
      });
      same(
        added.map(({ kind }) => kind),
        ['retried'],
        'the entries of a retry',
      );
      same((await world.task(task.id)).error, undefined, 'the error of the task that is retried');
      await runs(world, task);
    },
  },
  {
    name: 'operator/retry-cancelled',
    title: 'puts a cancelled task back into the queue, with no cancel requested any more',
    promises: ['6.21'],
    needs,
    async run(world) {
      const { task, worker, attempt } = await given(world);
      (await world.post(`/tasks/${task.id}/cancel`, {})).is(200);
      (await worker.report(attempt, 'cancelled')).is(200);
      await isNow(world, task, 'cancelled');
      (await retrying(world, task)).is(200);
      await runs(world, task);
    },
  },
  {
    name: 'operator/retry-expired',
    title: 'puts an expired task back into the queue, its passed deadline taken away',
    promises: ['6.21', '4.39'],
    needs,
    async run(world) {
      const { serverTime } = (await world.call({ method: 'GET', path: '/' })).is(200).body();
      const deadlineAt = new Date(Date.parse(String(serverTime)) + 1_000).toISOString();
      const task = await world.submit({ policy: { deadlineAt } });
      const expired = await world.taskIn(task.id, ['expired']);
      same(expired.error?.code, 'DEADLINE_PASSED', 'the code of the error');
      (await retrying(world, task)).is(200);
      await world.pause(500);
      await isNow(world, task, 'queued');
      await runs(world, task);
    },
  },
  {
    name: 'operator/retry-grants',
    title: 'grants as many attempts as a retry names, and no more',
    promises: ['6.21', '4.36'],
    needs,
    async run(world) {
      const policy = { maxAttempts: 1 };
      const { task, worker, attempt } = await given(world, { policy });
      (await worker.report(attempt, 'fail', failure(true))).is(200);
      await isNow(world, task, 'failed');
      (await retrying(world, task, { attempts: 2 })).is(200);
      for (const then of ['queued', 'failed']) {
        const next = await worker.claimOne(task.type);
        (await worker.report(next, 'fail', failure(true))).is(200);
        await isNow(world, task, then);
      }
    },
  },
  {
    name: 'operator/retry-refused',
    title: 'refuses to retry a task that is queued, running, succeeded or unknown',
    promises: ['6.21', '1.31'],
    needs,
    async run(world) {
      const queued = await world.submit({ type: world.type('queued') });
      await refuses(world, queued, () => retrying(world, queued));
      const { task, worker, attempt } = await given(world);
      await refuses(world, task, () => retrying(world, task));
      (await worker.report(attempt, 'complete', { result: 1 })).is(200);
      await refuses(world, task, () => retrying(world, task));
      const unknown = await unknownOutcome(world);
      const accepted = { acceptRepeatedEffect: true };
      await refuses(world, unknown, () => retrying(world, unknown, accepted));
    },
  },
  {
    name: 'operator/repeated-effect',
    title: 'retries a task whose effect had begun only where that is accepted',
    promises: ['6.22'],
    needs,
    async run(world) {
      const task = await failed(world, 'start');
      same(task.error?.effect, 'begun', 'error.effect of the task');
      await refuses(world, task, () => retrying(world, task));
      await refuses(world, task, () => retrying(world, task, { acceptRepeatedEffect: false }));
      (await retrying(world, task, { acceptRepeatedEffect: true })).is(200);
      // The next attempt does nothing: what the first did, that does not undo.
      const worker = world.worker();
      const later = await worker.claimOne(task.type);
      (await worker.report(later, 'start')).is(200);
      (await worker.report(later, 'fail', { ...failure(false), begun: false })).is(200);
      const again = await isNow(world, task, 'failed');
      same(again.error?.effect, 'begun', 'error.effect after an attempt that called no handler');
      await refuses(world, again, () => retrying(world, again));
      (await retrying(world, again, { acceptRepeatedEffect: true })).is(200);
      await runs(world, task);
    },
  },
  {
    name: 'operator/delay-of-retry',
    title: 'puts a retried task into the queue without the delay of its last attempt',
    promises: ['6.21'],
    needs,
    async run(world) {
      const { task, worker, attempt } = await given(world, {
        policy: { maxAttempts: 1, backoff: { ...soon, initialMs: 60_000, maxMs: 60_000 } },
      });
      (await worker.report(attempt, 'fail', failure(true))).is(200);
      await isNow(world, task, 'failed');
      (await retrying(world, task)).is(200);
      await runs(world, task);
    },
  },
];
