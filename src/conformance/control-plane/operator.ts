import { expect, same, shown } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import { failed, resolving, retrying, runs, unknownOutcome } from './operator-steps.ts';
import { entries, isNow, unchanged } from './steps.ts';

const needs = ['operator-key'] as const;

/** What holds for whatever an operator does, and drains. */
export const operator: readonly ControlPlaneCase[] = [
  {
    name: 'operator/if-seq',
    title: 'refuses what was decided about an older state, and tells the present seq',
    promises: ['6.25'],
    needs,
    async run(world) {
      const retried = await failed(world);
      const resolved = await unknownOutcome(world);
      for (const [task, work] of [
        [retried, (ifSeq: number) => retrying(world, retried, { ifSeq })],
        [resolved, (ifSeq: number) => resolving(world, resolved, 'failed', { ifSeq })],
      ] as const)
        for (const ifSeq of [task.seq - 1, task.seq + 1, 0])
          await unchanged(world, task, async () => {
            const seen = (await work(ifSeq)).refuses(409, 'CONFLICT');
            same(seen.body().seq, task.seq, 'the present seq in the refusal');
          });
    },
  },
  {
    name: 'operator/action-id',
    title: 'answers the same actionId with the first answer and changes nothing',
    promises: ['6.27'],
    needs,
    async run(world) {
      const task = await failed(world);
      const once = { actionId: world.id('act'), ifSeq: task.seq };
      const first = (await retrying(world, task, once)).is(200).body();
      const again = () => retrying(world, task, once);
      await unchanged(world, task, async () =>
        same((await again()).is(200).body(), first, 'the repeated answer'),
      );
      await runs(world, task);
      same((await again()).is(200).body(), first, 'the answer repeated after the end of the task');
      same((await entries(world, task, 'retried')).length, 1, 'the number of retried entries');
    },
  },
  {
    name: 'operator/cancel-after-retry',
    title: 'refuses a cancel that was meant for the task before an operator acted',
    promises: ['6.26'],
    needs,
    async run(world) {
      const task = await failed(world);
      (await retrying(world, task)).is(200);
      const path = `/tasks/${task.id}/cancel`;
      (await world.post(path, { ifSeq: task.seq })).refuses(409, 'CONFLICT');
      await isNow(world, task, 'queued');
      const { seq } = await world.task(task.id);
      (await world.worker().claimOne(task.type)).attemptId;
      // Entries of others in between are no reason.
      (await world.post(path, { ifSeq: seq })).is(200);
    },
  },
  {
    name: 'operator/drain',
    title: 'tells a worker to drain in answers and as a hint, and its next session nothing of it',
    promises: ['6.28', '6.29'],
    needs,
    async run(world) {
      const worker = world.worker();
      const drain = async (who: typeof worker) => {
        const answers = [await who.present([world.type()]), await who.claim([world.type()])];
        return answers.map((seen) => seen.is(200).body().drain);
      };
      same(await drain(worker), [false, false], 'drain of presence and claim');
      const hints = `/hints?workerId=${worker.workerId}&sessionId=${worker.sessionId}`;
      const stream = await world.listen(hints, world.keys.worker);
      await stream.next('ping', ({ event }) => event === 'ping');
      const path = `/workers/${worker.workerId}/drain`;
      (await world.post(path, {}, world.operatorKey)).is(200);
      await stream.next('the hint drain', ({ event }) => event === 'drain');
      stream.close();
      for (let i = 0; i < 2; i++)
        same(await drain(worker), [true, true], 'drain of presence and claim');
      same(await drain(worker.restarted()), [false, false], 'drain of the next session');
      const { drainRequested } = (await world.get(`/workers/${worker.workerId}`)).is(200).body();
      expect(drainRequested !== true, `The new session is shown as ${shown({ drainRequested })}.`);
    },
  },
];
