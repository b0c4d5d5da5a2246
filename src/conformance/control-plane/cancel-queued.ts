import { expect, same } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import { entries, given, isNow, notOffered, unchanged } from './steps.ts';
import type { AttemptOffer } from './wire-shapes.ts';

/** Cancelling what nobody runs, and saying it twice. */
export const cancelQueued: readonly ControlPlaneCase[] = [
  {
    name: 'cancel/queued',
    title: 'ends a queued task at once, and gives it to nobody',
    promises: ['4.27', '3.1'],
    async run(world) {
      const task = await world.submit();
      const seen = (await world.post(`/tasks/${task.id}/cancel`, { reason: 'wrong one' })).is(200);
      same(seen.body().status, 'cancelled', 'the status in the answer');
      await isNow(world, task, 'cancelled');
      same((await entries(world, task, 'cancelled')).length, 1, 'the number of cancelled entries');
      await notOffered(world, task.type);
    },
  },
  {
    name: 'cancel/not-before',
    title: 'ends a task that waits for its time at once',
    promises: ['4.27'],
    async run(world) {
      const task = await world.submit({ notBeforeAt: '2999-01-01T00:00:00Z' });
      (await world.post(`/tasks/${task.id}/cancel`, {})).is(200);
      await isNow(world, task, 'cancelled');
    },
  },
  {
    name: 'cancel/terminal',
    title: 'answers a cancel of a task that has ended with TASK_TERMINAL, and changes nothing',
    promises: ['6.17', '1.31'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      (await worker.report(attempt, 'complete', { result: 1 })).is(200);
      const gone = await world.submit({ type: world.type('other') });
      (await world.post(`/tasks/${gone.id}/cancel`, {})).is(200);
      for (const one of [task, gone])
        await unchanged(world, one, async () => {
          (await world.post(`/tasks/${one.id}/cancel`, {})).refuses(409, 'TASK_TERMINAL');
        });
    },
  },
  {
    name: 'cancel/action-id',
    title: 'answers the same actionId with the first answer, also when the task has ended',
    promises: ['6.27'],
    async run(world) {
      const task = await world.submit();
      const path = `/tasks/${task.id}/cancel`;
      const body = { actionId: world.id('act'), reason: 'once' };
      const first = (await world.post(path, body)).is(200);
      await unchanged(world, task, async () => {
        for (let i = 0; i < 2; i++)
          same((await world.post(path, body)).is(200).body(), first.body(), 'the repeated answer');
      });
      const { seq } = await world.task(task.id);
      same(seq, 2, 'the seq of the task');
    },
  },
  {
    name: 'cancel/running-once',
    title: 'asks a running task to stop once, however often it is said',
    promises: ['6.17', '6.27'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      const path = `/tasks/${task.id}/cancel`;
      const body = { actionId: world.id('act') };
      const first = (await world.post(path, body)).is(200);
      same(first.body().status, 'running', 'the status of a running task that is cancelled');
      (await worker.report(attempt, 'progress', { n: 1, percent: 50 })).is(200);
      same((await world.post(path, body)).is(200).body(), first.body(), 'the repeated answer');
      same(
        (await entries(world, task, 'cancel-requested')).length,
        1,
        'the number of cancel-requested entries',
      );
    },
  },
  {
    name: 'cancel/at-the-same-time',
    title: 'lets one of a cancel and a claim at the same time win, never both',
    promises: ['4.27', '3.3', '4.22'],
    async run(world) {
      for (const aheadMs of AHEAD_MS) {
        const type = world.type(`race${aheadMs}`);
        const task = await world.submit({ type });
        const worker = world.worker();
        const [cancelled, claimed] = await Promise.all([
          world.pause(Math.max(0, -aheadMs)).then(() => world.post(`/tasks/${task.id}/cancel`, {})),
          world.pause(Math.max(0, aheadMs)).then(() => worker.claim([type])),
        ]);
        const { status } = cancelled.is(200).body();
        const { attempts } = claimed.is(200).body<{ attempts: AttemptOffer[] }>();
        const now = await world.task(task.id);
        expect(
          attempts.length === 0 ? now.status === 'cancelled' : now.status === 'running',
          `The cancel said ${status}, the claim got ${attempts.length} attempts, and the task is ${now.status}.`,
        );
        const [attempt] = attempts;
        if (attempt === undefined) continue;
        (await worker.report(attempt, 'cancelled')).is(200);
        await isNow(world, task, 'cancelled');
      }
    },
  },
];

/** By how much the cancel is ahead of the claim: each of the two comes first in some round, on any peer. */
const AHEAD_MS = [-300, -20, 0, 20, 300] as const;
