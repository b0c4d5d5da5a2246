import { same } from '../check.ts';
import { listed } from './faults.ts';
import type { ControlPlaneCase } from './index.ts';
import { accepted, entries, failure, given, LONG_LEASE_MS } from './steps.ts';
import type { AttemptOffer } from './wire-shapes.ts';

/** A call is sent and broken off, so that nobody knows whether it was taken, and then said again: one effect. */
export const lostAnswers: readonly ControlPlaneCase[] = [
  {
    name: 'lost-answers/claim',
    title: 'gives a worker whose claim was broken off the same attempts when it asks again',
    promises: ['2.12'],
    async run(world) {
      const worker = world.worker();
      for (const ms of BREAKS_MS) {
        const type = world.type(`after-${ms}`);
        const policy = { leaseMs: LONG_LEASE_MS };
        const tasks = [await world.submit({ type, policy }), await world.submit({ type, policy })];
        const options = { requestId: world.id('req'), max: 1 };
        await world.cutOff(worker.claiming([type], options), ms);
        const ids = new Set<string>();
        for (const _ of [1, 2]) {
          const seen = (await worker.claim([type], options)).is(200);
          const { attempts } = seen.body<{ attempts: AttemptOffer[] }>();
          for (const { attemptId } of attempts) ids.add(attemptId);
        }
        same(ids.size, 1, 'the number of attempts that one request id got');
        const given = await Promise.all(tasks.map((task) => entries(world, task, 'leased')));
        same(given.flat().length, 1, 'the number of `leased` entries of the two tasks');
      }
    },
  },
  {
    name: 'lost-answers/start',
    title: 'accepts a start again whose answer was lost, and begins the attempt once',
    promises: ['1.18', '4.28'],
    async run(world) {
      const worker = world.worker();
      for (const ms of BREAKS_MS) {
        const { task, attempt } = await given(world, { worker, word: `after-${ms}` });
        await world.cutOff(worker.reporting(attempt, 'start'), ms);
        accepted(await worker.report(attempt, 'start'), attempt, 'start');
        same((await entries(world, task, 'started')).length, 1, 'the number of `started` entries');
        same((await world.task(task.id)).attempts, 1, 'the attempts of the task');
      }
    },
  },
  {
    name: 'lost-answers/complete',
    title: 'takes a result once whose answer was lost',
    promises: ['1.15'],
    async run(world) {
      const worker = world.worker();
      for (const ms of BREAKS_MS) {
        const { task, attempt } = await given(world, { worker, word: `after-${ms}` });
        await world.cutOff(worker.reporting(attempt, 'complete', { result: ms }), ms);
        accepted(await worker.report(attempt, 'complete', { result: ms }), attempt, 'complete');
        same((await world.task(task.id)).result, ms, 'the result of the task');
        const ends = await entries(world, task, 'succeeded');
        same(ends.length, 1, 'the number of `succeeded` entries');
      }
    },
  },
  {
    name: 'lost-answers/fail',
    title: 'queues a task again once after a failure that was told twice',
    promises: ['1.15', '4.9'],
    async run(world) {
      const worker = world.worker();
      for (const ms of BREAKS_MS) {
        const { task, attempt } = await given(world, { worker, word: `after-${ms}` });
        await world.cutOff(worker.reporting(attempt, 'fail', failure(true)), ms);
        accepted(await worker.report(attempt, 'fail', failure(true)), attempt, 'fail');
        const next = await worker.claimOne(task.type);
        accepted(await worker.report(attempt, 'fail', failure(true)), attempt, 'fail');
        same(next.fence, attempt.fence + 1, 'the fence of the next attempt');
        same((await entries(world, task, 'failed')).length, 1, 'the number of `failed` entries');
        same((await world.task(task.id)).attempts, 1, 'the attempts of the task');
      }
    },
  },
  {
    name: 'lost-answers/batch',
    title: 'takes each report of a batch once whose answer was lost',
    promises: ['1.15', '6.34'],
    async run(world) {
      const worker = world.worker();
      const begun = [];
      for (const word of ['a', 'b', 'c']) begun.push(await given(world, { worker, word }));
      const items = begun.map(({ attempt }, i) => worker.item(attempt, 'complete', { result: i }));
      const call = {
        method: 'POST',
        path: '/attempts/batch',
        key: world.keys.worker,
        body: { reports: items },
      } as const;
      for (const ms of BREAKS_MS) await world.cutOff(call, ms);
      const { results } = (await worker.batch(items))
        .is(200)
        .body<{ results: { status: number }[] }>();
      same(
        results.map(({ status }) => status),
        [200, 200, 200],
        'the statuses of the items',
      );
      for (const [i, { task }] of begun.entries()) {
        same((await world.task(task.id)).result, i, 'the result of a task');
        same((await entries(world, task, 'succeeded')).length, 1, 'the number of its ends');
      }
    },
  },
  {
    name: 'lost-answers/submission',
    title: 'makes one task of a submission that was broken off and sent again under its key',
    promises: ['1.32'],
    async run(world) {
      for (const ms of BREAKS_MS) {
        const type = world.type(`after-${ms}`);
        const body = world.submission({ type, idempotencyKey: world.id('key') });
        const call = { method: 'POST', path: '/tasks', key: world.keys.producer, body } as const;
        await world.cutOff(call, ms);
        const ids = new Set<unknown>();
        for (const _ of [1, 2]) {
          const { id } = (await world.call(call)).is(200, 201).body();
          world.remember(id);
          ids.add(id);
        }
        same(ids.size, 1, 'the number of tasks under one idempotency key');
        same((await listed(world, type)).length, 1, 'the number of tasks in the list');
      }
    },
  },
];

/** Before it is sent, while it is worked on, and after its answer: which of them it hits, the peer decides. */
const BREAKS_MS = [0, 2, 40] as const;
