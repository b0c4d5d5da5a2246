import { NotApplicable } from '../case.ts';
import { expect, same } from '../check.ts';
import { limitsOf } from './faults.ts';
import type { ControlPlaneCase } from './index.ts';
import { accepted, entries, given, LONG_LEASE_MS, lost, notOffered, soon } from './steps.ts';
import type { AttemptOffer } from './wire-shapes.ts';
import type { ClaimOptions, WorkerActor } from './worker-actor.ts';
import type { ControlPlaneWorld } from './world.ts';

/** What a claim gets, and what the same claim gets again. */
export const claims: readonly ControlPlaneCase[] = [
  {
    name: 'claims/same-request',
    title: 'answers a repeated claim with the same attempts and nothing else',
    promises: ['2.12', '2.13'],
    async run(world) {
      await queued(world, 3);
      const worker = world.worker();
      const options = { requestId: world.id('req'), max: 2 };
      const first = await claimed(worker, world, options);
      same(first.length, 2, 'the number of attempts');
      for (const _ of [1, 2]) {
        const again = await claimed(worker, world, options);
        same(again.map(identity), first.map(identity), 'the attempts of the repeated claim');
      }
    },
  },
  {
    name: 'claims/ended-ones-go',
    title: 'leaves what has ended out of the repeated claim, and at the end answers it empty',
    promises: ['2.12', '2.13'],
    async run(world) {
      await queued(world, 4);
      const worker = world.worker();
      const options = { requestId: world.id('req'), max: 2 };
      const [one, two] = (await claimed(worker, world, options)) as [AttemptOffer, AttemptOffer];
      (await worker.report(one, 'complete', { result: 1 })).is(200);
      const left = await claimed(worker, world, options);
      same(left.map(identity), [identity(two)], 'the attempts once one has ended');
      (await worker.report(two, 'release', { reason: 'no-slot' })).is(200);
      same(await claimed(worker, world, options), [], 'the attempts once both have ended');
    },
  },
  {
    name: 'claims/empty-again',
    title: 'answers a claim that got nothing with nothing again, though there is work now',
    promises: ['2.13'],
    async run(world) {
      const worker = world.worker();
      const options = { requestId: world.id('req'), max: 5 };
      same(await claimed(worker, world, options), [], 'the attempts before there was a task');
      await queued(world, 1);
      same(await claimed(worker, world, options), [], 'the attempts of the repeated claim');
      same((await claimed(worker, world)).length, 1, 'the number of attempts of a new claim');
    },
  },
  {
    name: 'claims/request-id-of-another',
    title: 'takes the same request id of another worker, or of a later session, as another claim',
    promises: ['2.10'],
    async run(world) {
      await queued(world, 3);
      const options = { requestId: world.id('req') };
      const worker = world.worker();
      const seen = [];
      for (const who of [worker, world.worker(), worker.restarted()])
        seen.push(...(await claimed(who, world, options)).map(({ attemptId }) => attemptId));
      same(seen.length, 3, 'the number of attempts');
      same(new Set(seen).size, 3, 'the number of different attempts');
    },
  },
  {
    name: 'claims/max-and-slots',
    title: 'grants no more than max and than the slots of a type',
    promises: ['2.17'],
    async run(world) {
      await queued(world, 8);
      const worker = world.worker();
      const number = async (options: ClaimOptions) =>
        (await claimed(worker, world, options)).length;
      same(await number({ max: 2, slots: 10 }), 2, 'the attempts for max 2 and 10 slots');
      same(await number({ max: 10, slots: 1 }), 1, 'the attempts for max 10 and 1 slot');
      same(await number({ max: 0, slots: 10 }), 0, 'the attempts for max 0');
    },
  },
  {
    name: 'claims/most-of-one',
    title:
      'takes a claim for limits.claimMax attempts (100 where it tells none) and refuses one for more',
    promises: ['2.38'],
    async run(world) {
      const { claimMax = 100 } = await limitsOf(world);
      await queued(world, 2);
      const worker = world.worker();
      (await worker.claim([world.type()], { max: claimMax + 1 })).is(400, 413, 422);
      const got = await claimed(worker, world, { max: claimMax });
      same(got.length, 2, 'the attempts for a claim of as many, after one that was for more');
    },
  },
  {
    name: 'claims/slots-of-each-type',
    title: 'counts the slots of each type for itself',
    promises: ['2.17'],
    async run(world) {
      for (const word of ['a', 'b']) await queued(world, 4, word);
      const want = { a: 1, b: 2 };
      const more = {
        want: Object.entries(want).map(([word, slots]) => ({
          type: world.type(word),
          schemaVersion: 1,
          slots,
        })),
      };
      const got = await claimed(world.worker(), world, { max: 10, more });
      for (const [word, slots] of Object.entries(want)) {
        const number = got.filter(({ type }) => type === world.type(word)).length;
        same(number, slots, `the attempts of a type with ${slots} slots`);
      }
    },
  },
  {
    name: 'claims/only-what-is-wanted',
    title: 'grants no other type, version or pool than the claim names',
    promises: ['2.18'],
    async run(world) {
      const type = world.type();
      const others = [
        { type: world.type('other') },
        { type: `${type}/more` },
        { type: `${type.slice(0, -1)}${type.at(-1)?.toUpperCase()}` },
        { schemaVersion: 2 },
        { pool: `${world.pool}-other` },
      ];
      for (const fields of others) await world.submit(fields);
      await notOffered(world, type);
      const task = await world.submit();
      const got = await claimed(world.worker(), world, { max: 10 });
      same(
        got.map(({ taskId }) => taskId),
        [task.id],
        'the tasks of the attempts',
      );
    },
  },
  {
    name: 'claims/two-pools',
    title: 'grants tasks of every pool that the claim names',
    promises: ['2.18'],
    async run(world) {
      const pools = [world.pool, `${world.pool}:second`];
      for (const pool of pools) await world.submit({ pool });
      const got = await claimed(world.worker(), world, { max: 10, pools });
      same(got.map(({ pool }) => pool).sort(), pools.sort(), 'the pools of the attempts');
    },
  },
  {
    name: 'claims/defaults-of-a-want',
    title: 'takes an attempt claimed without safety and gate as non-idempotent with gate start',
    promises: ['4.1'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { passed: 'start' });
      const { effectSafety, effectGate } = attempt;
      same([effectSafety, effectGate], ['non-idempotent', 'start'], 'safety and gate');
      (await worker.report(attempt, 'lost', lost())).is(200);
      same((await world.task(task.id)).status, 'outcome-unknown', 'the status past the gate');
    },
  },
  {
    name: 'claims/pinned',
    title: 'decides by the safety and gate that the claim named, whatever presence says',
    promises: ['2.16'],
    async run(world) {
      const cases = [
        { effectSafety: 'non-idempotent', says: 'pure', status: 'outcome-unknown' },
        { effectSafety: 'pure', says: 'non-idempotent', status: 'queued' },
      ] as const;
      for (const { effectSafety, says, status } of cases) {
        const word = effectSafety;
        const type = world.type(word);
        const worker = world.worker();
        const handler = { type, schemaVersion: 1, effectSafety: says, effectGate: 'start' };
        (await worker.present([type], { handlers: [handler] })).is(200);
        const { task, attempt } = await given(world, { worker, word, effectSafety });
        (await worker.present([type], { handlers: [handler] })).is(200);
        same(attempt.effectSafety, effectSafety, '`effectSafety` of the attempt');
        (await worker.report(attempt, 'start')).is(200);
        (await worker.report(attempt, 'lost', lost())).is(200);
        same((await world.task(task.id)).status, status, `the status after a lost ${word} attempt`);
      }
    },
  },
  {
    name: 'claims/priority',
    title: 'grants the higher priority first, though it is younger',
    promises: ['2.19'],
    async run(world) {
      const order = [0, -100, 100, 5];
      for (const priority of order) await world.submit({ priority, input: priority });
      const worker = world.worker();
      const got: unknown[] = [];
      for (const _ of order) got.push((await worker.claimOne(world.type())).input);
      same(got, [100, 5, 0, -100], 'the priorities in the order of their claims');
    },
  },
  {
    name: 'claims/age',
    title: 'grants the oldest of one priority first',
    promises: ['2.19'],
    async run(world) {
      for (const input of [1, 2, 3, 4]) {
        await world.submit({ input });
        // Two of one millisecond have no order.
        await world.pause(5);
      }
      const worker = world.worker();
      const got: unknown[] = [];
      for (const _ of [1, 2, 3, 4]) got.push((await worker.claimOne(world.type())).input);
      same(got, [1, 2, 3, 4], 'the tasks in the order of their claims');
    },
  },
  {
    name: 'claims/not-before',
    title: 'gives no attempt before notBeforeAt, and one after it',
    promises: ['4.38'],
    async run(world) {
      const atMs = (await world.serverNowMs()) + 1_500;
      const task = await world.submit({ notBeforeAt: new Date(atMs).toISOString() });
      await notOffered(world, task.type);
      await world.worker().claimOne(task.type);
      const [leased] = await entries(world, task, 'leased');
      const early = atMs - Date.parse(leased?.at ?? '');
      expect(early <= 0, `The attempt was given ${early} ms before notBeforeAt.`);
    },
  },
  {
    name: 'claims/answer-bytes',
    title: 'ends an answer at limits.batchBytes, and gives the rest to later claims',
    promises: ['2.20'],
    async run(world) {
      const { batchBytes, inlineBytes } = await limitsOf(world);
      const number = Math.ceil(batchBytes / inlineBytes) + 2;
      if (number > MOST_LARGE_TASKS)
        throw new NotApplicable(`it takes ${number} tasks of ${inlineBytes} bytes to see it.`);
      const input = 'x'.repeat(inlineBytes - 2);
      for (let i = 0; i < number; i++) await world.submit({ input });
      const worker = world.worker();
      let got = 0;
      await world.until(`${number} attempts`, async () => {
        const answer = (await worker.claim([world.type()], { max: number })).is(200);
        const bytes = Buffer.byteLength(answer.text);
        expect(
          bytes <= batchBytes + ENVELOPE_BYTES,
          `A claim's answer has ${bytes} bytes; batchBytes is ${batchBytes}.`,
        );
        got += answer.body<{ attempts: unknown[] }>().attempts.length;
        return got === number || undefined;
      });
    },
  },
  {
    name: 'claims/many-at-once',
    title: 'gives each task to one of many workers that claim at the same time',
    promises: ['3.3'],
    async run(world) {
      const tasks = await queued(world, 12);
      const workers = [1, 2, 3, 4, 5, 6].map(() => world.worker());
      const got: AttemptOffer[] = [];
      await world.until('an attempt of every task', async () => {
        const each = await Promise.all(workers.map((worker) => claimed(worker, world, { max: 3 })));
        got.push(...each.flat());
        return got.length >= tasks.length || undefined;
      });
      const ids = got.map(({ taskId }) => taskId).sort();
      same(ids, tasks.map(({ id }) => id).sort(), 'the tasks that were given out');
    },
  },
  {
    name: 'claims/one-for-many',
    title: 'gives the one task that there is to one worker, and to no other while it runs',
    promises: ['3.3'],
    async run(world) {
      await queued(world, 1);
      const workers = [1, 2, 3, 4, 5, 6, 7, 8].map(() => world.worker());
      let got = 0;
      for (const _ of [1, 2, 3])
        for (const one of await Promise.all(workers.map((worker) => claimed(worker, world))))
          got += one.length;
      same(got, 1, 'the number of attempts that were given');
    },
  },
  {
    name: 'claims/cancelled-meanwhile',
    title: 'says in the answer to a repeated claim that a cancel was requested since',
    promises: ['2.12', '4.26'],
    async run(world) {
      const options = { requestId: world.id('req') };
      const { task, worker, attempt } = await given(world, options);
      same(attempt.cancelRequested, false, '`cancelRequested` before the cancel');
      (await world.cancel(task.id)).is(200);
      const [again] = await claimed(worker, world, options);
      same(again?.cancelRequested, true, '`cancelRequested` of the repeated claim');
    },
  },
  {
    name: 'claims/checkpoint',
    title: 'gives the last accepted checkpoint to the next attempt',
    promises: ['6.33'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { effectSafety: 'pure' });
      for (const n of [1, 2, 3]) {
        const checkpoint = n < 3 ? { step: n, of: [n, null] } : undefined;
        const fields = { n, ...(checkpoint && { checkpoint }) };
        accepted(await worker.report(attempt, 'progress', fields), attempt, 'progress');
      }
      (await worker.report(attempt, 'lost', lost())).is(200);
      const next = await worker.claimOne(task.type);
      same(next.checkpoint, { step: 2, of: [2, null] }, 'the checkpoint of the next attempt');
    },
  },
];

/** So many tasks in the queue. */
async function queued(world: ControlPlaneWorld, number: number, word?: string) {
  const policy = { leaseMs: LONG_LEASE_MS, backoff: soon };
  const tasks = [];
  for (let i = 0; i < number; i++)
    tasks.push(await world.submit({ type: world.type(word), policy, input: i }));
  return tasks;
}

async function claimed(
  worker: WorkerActor,
  world: ControlPlaneWorld,
  options: ClaimOptions = {},
): Promise<readonly AttemptOffer[]> {
  const seen = (await worker.claim([world.type()], options)).is(200);
  return seen.body<{ attempts: AttemptOffer[] }>().attempts;
}

const identity = ({ attemptId, taskId, fence, leaseToken }: AttemptOffer) => ({
  attemptId,
  taskId,
  fence,
  leaseToken,
});

/** Bounds the load of a peer whose limits are of another kind. */
const MOST_LARGE_TASKS = 12;
/** What stands around the attempts. */
const ENVELOPE_BYTES = 4_096;
