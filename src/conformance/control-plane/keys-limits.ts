import { expect, same } from '../check.ts';
import type { Seen } from './caller.ts';
import type { ControlPlaneCase } from './index.ts';
import { failed, unknownOutcome } from './operator-steps.ts';
import { accepted, given, unchanged } from './steps.ts';
import type { AttemptOffer, TaskShape } from './wire-shapes.ts';
import type { ControlPlaneWorld } from './world.ts';

const needs = ['admin-key'] as const;
const denied = (seen: Seen) => seen.refuses(403, 'SCOPE_DENIED');

const submits = (world: ControlPlaneWorld, key: string, fields = {}): Promise<Seen> =>
  world.submitting(fields, { key });

/** What a key is limited to holds for all that it may do. */
export const keysLimits: readonly ControlPlaneCase[] = [
  {
    name: 'keys/limited-pools',
    title: 'holds a key to its pools',
    promises: ['9.20'],
    needs,
    async run(world) {
      const limits = { pools: [world.pool] };
      const worker = world.worker({ key: (await world.newKey('task-worker', { limits })).key });
      const { key } = await world.newKey('task-producer', { limits });
      (await worker.claim([world.type()])).is(200);
      const both = { pools: [world.pool, `${world.pool}:b`] };
      denied(await worker.claim([world.type()], both));
      denied(await worker.present([world.type()], both));
      (await submits(world, key)).is(201);
      denied(await submits(world, key, { pool: `${world.pool}:b` }));
      const { pool: _, ...unnamed } = world.submission();
      denied(await world.submitting({}, { key, body: unnamed }));
    },
  },
  {
    name: 'keys/limited-types',
    title: 'holds a key to its types, in batches too',
    promises: ['9.20'],
    needs,
    async run(world) {
      const limits = { types: [world.type()] };
      const { key } = await world.newKey('task-producer', { limits });
      const worker = world.worker({ key: (await world.newKey('task-worker', { limits })).key });
      (await submits(world, key)).is(201);
      const type = world.type('other');
      denied(await submits(world, key, { type }));
      const items = [world.submission(), world.submission({ type })];
      const seen = (await world.post('/tasks/batch', items, key)).is(200);
      const answers = seen.body<{ status: number; body: { id?: string; code?: string } }[]>();
      for (const { body } of answers) world.remember(body.id);
      same(
        answers.map(({ status }) => status),
        [201, 403],
        'the statuses of the items',
      );
      denied(await worker.claim([world.type(), type]));
      const { attempts } = (await worker.claim([world.type()])).is(200).body<{
        attempts: AttemptOffer[];
      }>();
      same(attempts.length, 1, 'the number of attempts of the type that it may claim');
    },
  },
  {
    name: 'keys/limited-worker-ids',
    title: 'holds a key to the worker ids that begin as it says',
    promises: ['9.20'],
    needs,
    async run(world) {
      const workerIdPrefix = world.fresh('mine');
      const { key } = await world.newKey('task-worker', { limits: { workerIdPrefix } });
      const mine = world.worker({ workerId: `${workerIdPrefix}-1`, key });
      (await mine.present([world.type()])).is(200);
      (await mine.claim([world.type()])).is(200);
      const other = world.worker({ key });
      denied(await other.present([world.type()]));
      denied(await other.claim([world.type()]));
      const { status } = await world.get(`/workers/${other.workerId}`);
      same(status, 404, 'the answer about the worker that was refused');
    },
  },
  {
    name: 'keys/limited-actions',
    title: 'holds producers and operators with limits to them in cancel, retry and resolve too',
    promises: ['9.20'],
    needs,
    async run(world) {
      const [ended, open] = [await failed(world), await unknownOutcome(world)];
      const queued = await world.submit();
      const act = async (key: string, what: string, { id }: TaskShape) => {
        const { seq: ifSeq } = await world.task(id);
        const body = { actionId: world.id('act'), ifSeq, reason: 'the case says so' };
        const more = what === 'resolve' ? { resolution: 'failed' } : {};
        return world.post(`/tasks/${id}/${what}`, { ...body, ...more }, key);
      };
      const elsewhere = [{ pools: [`${world.pool}:b`] }, { types: [world.type('other')] }];
      for (const limits of elsewhere) {
        const { key } = await world.newKey('task-operator', { limits });
        const { key: producer } = await world.newKey('task-producer', { limits });
        for (const [who, what, task] of [
          [producer, 'cancel', queued],
          [key, 'cancel', queued],
          [key, 'retry', ended],
          [key, 'resolve', open],
        ] as const)
          await unchanged(world, task, async () => void denied(await act(who, what, task)));
      }
      const limits = { pools: [world.pool], types: [world.type()] };
      const { key } = await world.newKey('task-operator', { limits });
      (await act(key, 'cancel', queued)).is(200);
      (await act(key, 'retry', ended)).is(200);
      (await act(key, 'resolve', open)).is(200);
    },
  },
  {
    name: 'keys/limited-drain',
    title: 'holds an operator with a prefix of worker ids to it in drains',
    promises: ['9.20'],
    needs,
    async run(world) {
      const [mine, other] = [world.worker(), world.worker()];
      for (const worker of [mine, other]) (await worker.present([world.type()])).is(200);
      const limits = { workerIdPrefix: mine.workerId };
      const { key } = await world.newKey('task-operator', { limits });
      denied(await world.post(`/workers/${other.workerId}/drain`, {}, key));
      const claimed = (await other.claim([world.type()])).is(200).body();
      same(claimed.drain ?? false, false, '`drain` for the worker of the refused drain');
      (await world.post(`/workers/${mine.workerId}/drain`, {}, key)).is(200);
    },
  },
  {
    name: 'keys/limited-presence',
    title: 'holds a worker with limits to them in what it says of its types, and in its hints',
    promises: ['9.20'],
    needs,
    async run(world) {
      const mine = world.fresh('mine');
      const limits = { types: [world.type()], workerIdPrefix: mine };
      const { key } = await world.newKey('task-worker', { limits });
      const worker = world.worker({ workerId: `${mine}-1`, key });
      (await worker.present([world.type()])).is(200);
      denied(await worker.present([world.type(), world.type('other')]));
      const hints = (workerId: string) =>
        `/hints?workerId=${workerId}&sessionId=${world.id('ses')}`;
      const over = new AbortController();
      const path = hints(world.fresh('other'));
      const sent = { method: 'GET', path, key } as const;
      const { status } = await world.open({ ...sent, signal: over.signal });
      over.abort();
      same(status, 403, 'the status of the hints for another worker');
    },
  },
  {
    name: 'keys/rate-without-reports',
    title: 'counts no report against the rate of a key',
    promises: ['9.24'],
    needs,
    async run(world) {
      const limits = { requestsPerMinute: 2 };
      const { key } = await world.newKey('task-worker', { limits });
      const { worker, attempt } = await given(world);
      const limited = worker.withKey(key);
      const said: Seen[] = [];
      for (let i = 0; i < 5 && said.at(-1)?.status !== 429; i++)
        said.push(await world.get('/doctor', key));
      expect(said.at(-1)?.status === 429, '5 calls at once are taken of a key with 2 a minute.');
      for (let i = 0; i < 6; i++)
        accepted(await limited.report(attempt, 'renew'), attempt, 'renew');
      (await limited.batch([limited.item(attempt, 'start')])).is(200);
      accepted(await limited.report(attempt, 'complete', { result: 1 }), attempt, 'complete');
    },
  },
];
