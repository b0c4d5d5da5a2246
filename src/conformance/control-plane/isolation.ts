import { expect, same } from '../check.ts';
import type { Seen, Sent } from './caller.ts';
import { listed } from './faults.ts';
import type { ControlPlaneCase } from './index.ts';
import { given, notOffered } from './steps.ts';
import type { AttemptOffer } from './wire-shapes.ts';
import type { ControlPlaneWorld } from './world.ts';

const otherProject = ['other-project'] as const;

/** What a refusal says, without what differs from one request to the next and the id that was asked for. */
function said({ json, status }: Seen, id: string): string {
  const { requestId: _, instance: __, ...rest } = json ?? {};
  return JSON.stringify({ status, rest }).replaceAll(id, '<id>');
}

/** The other project's key is answered about this id as about one that never was. */
async function unknown(
  world: ControlPlaneWorld,
  foreign: string,
  never: string,
  sent: (id: string) => Sent,
): Promise<void> {
  const about = (await world.call(sent(foreign))).refuses(404, 'NOT_FOUND');
  const of = (await world.call(sent(never))).refuses(404, 'NOT_FOUND');
  same(said(about, foreign), said(of, never), `what ${about.what} says of a foreign id`);
}

const attemptsOf = (seen: Seen) =>
  seen.is(200).body<{ attempts: AttemptOffer[] }>().attempts.length;

/** Projects, pools, types and versions do not meet. */
export const isolation: readonly ControlPlaneCase[] = [
  {
    name: 'isolation/tasks',
    title: "answers another project's key about a task as about one that never was",
    promises: ['9.9', '8.4'],
    needs: otherProject,
    async run(world) {
      const key = world.keys.otherProducer;
      const { id } = await world.submit();
      for (const rest of ['', '/events', '/events?after=5&waitMs=20000', '/logs'])
        await unknown(world, id, world.id('tsk'), (one) => ({
          method: 'GET',
          path: `/tasks/${one}${rest}`,
          key,
        }));
      await unknown(world, id, world.id('tsk'), (one) => ({
        method: 'POST',
        path: `/tasks/${one}/cancel`,
        key,
        body: { reason: 'not mine' },
      }));
      same((await world.task(id)).status, 'queued', 'the status of the task');
    },
  },
  {
    name: 'isolation/attempts',
    title: "answers another project's key about an attempt with 404, also with its token",
    promises: ['1.8', '9.9', '8.4'],
    needs: otherProject,
    async run(world) {
      const { task, worker, attempt } = await given(world, { passed: 'start' });
      const other = world.worker({ workerId: worker.workerId, key: world.keys.otherWorker ?? '' });
      for (const [op, fields] of [
        ['renew', {}],
        ['complete', { result: 'stolen' }],
        ['lost', { reason: 'host-died', begun: true }],
      ] as const) {
        const seen = (await other.report(attempt, op, fields)).refuses(404, 'NOT_FOUND');
        same(seen.body().kind, 'attempt', 'the kind of what was not found');
        const never = await other.report({ ...attempt, attemptId: world.id('att') }, op, fields);
        const told = never.text.match(/att_[A-Za-z0-9]+/)?.[0] ?? '';
        same(said(seen, attempt.attemptId), said(never, told), 'what is said of a foreign attempt');
        const items = (await other.batch([other.item(attempt, op, fields)])).is(200);
        const { results } = items.body<{ results: { status: number }[] }>();
        same(results[0]?.status, 404, 'the status of the item');
      }
      (await worker.report(attempt, 'complete', { result: 'mine' })).is(200);
      same((await world.task(task.id)).result, 'mine', 'the result of the task');
    },
  },
  {
    name: 'isolation/workers',
    title: "shows another project's key no worker, and lets both projects use the same workerId",
    promises: ['9.9', '9.10'],
    needs: otherProject,
    async run(world) {
      const worker = world.worker({ workerId: world.fresh('worker') });
      (await worker.present([world.type()])).is(200);
      const key = world.keys.otherProducer;
      const path = (id: string) => `/workers/${id}`;
      await unknown(world, worker.workerId, world.fresh('nobody'), (id) => ({
        method: 'GET',
        path: path(id),
        key,
      }));
      for (const all of ['/workers', '/types', '/doctor'])
        expect(
          !(await world.get(all, key)).is(200).text.includes(worker.workerId),
          `GET ${all} of the other project shows ${worker.workerId}.`,
        );
      const other = world.worker({ workerId: worker.workerId, key: world.keys.otherWorker ?? '' });
      (await other.present([world.type()])).is(200);
      (await worker.claim([world.type()])).is(200);
    },
  },
  {
    name: 'isolation/lists',
    title: 'shows no task of another project in lists, types and doctor',
    promises: ['9.10'],
    needs: otherProject,
    async run(world) {
      const key = world.keys.otherProducer;
      const task = await world.submit();
      same((await listed(world, task.type, '', key)).length, 0, "tasks in the other's list");
      expect(
        !(await world.get('/types', key)).is(200).text.includes(task.type),
        'GET /types of the other project shows the type of the task.',
      );
      const mine = (await world.get('/doctor')).is(200).body();
      const theirs = (await world.get('/doctor', key)).is(200).body();
      expect(mine.project !== theirs.project, `Both keys are of project ${mine.project}.`);
    },
  },
  {
    name: 'isolation/claims',
    title: 'gives a task to no worker of another project',
    promises: ['9.10', '9.9'],
    needs: otherProject,
    async run(world) {
      const task = await world.submit();
      const other = world.worker({ key: world.keys.otherWorker ?? '' });
      for (let i = 0; i < 3; i++)
        same(attemptsOf(await other.claim([task.type])), 0, "attempts given to the other's worker");
      await world.worker().claimOne(task.type);
    },
  },
  {
    name: 'isolation/idempotency-keys',
    title: 'makes two tasks of one idempotency key in two projects',
    promises: ['1.34'],
    needs: otherProject,
    async run(world) {
      const fields = { idempotencyKey: world.id('key') };
      const mine = (await world.submitting(fields)).is(201).body();
      const key = world.keys.otherProducer ?? '';
      const theirs = (await world.submitting(fields, { key })).is(201).body();
      expect(mine.id !== theirs.id, `Both projects have task ${mine.id}.`);
      const another = await world.submitting({ ...fields, input: 2 }, { key });
      another.refuses(409, 'IDEMPOTENCY_CONFLICT');
      expect(!another.text.includes(String(mine.id)), "The conflict shows the other's task.");
    },
  },
  {
    name: 'isolation/streams',
    title: 'sends the changes of a task to readers of its own project only',
    promises: ['6.19', '9.10'],
    needs: otherProject,
    async run(world) {
      const key = world.keys.otherProducer ?? '';
      const reader = await world.listen('/events', key);
      await reader.next('ping', ({ event }) => event === 'ping');
      const mine = await world.submit();
      const theirs = (await world.submitting({}, { key })).is(201).body();
      await reader.next('the own task', ({ data }) => data?.taskId === theirs.id);
      expect(
        !reader.frames.some(({ data }) => data?.taskId === mine.id),
        'The stream told of a task of another project.',
      );
      reader.close();
    },
  },
  {
    name: 'isolation/admin',
    title: "answers an admin about another project's task as about none, and makes keys of its own",
    promises: ['9.9', '9.7'],
    needs: ['other-project', 'admin-key'],
    async run(world) {
      const key = world.keys.admin;
      const other = world.keys.otherProducer ?? '';
      const { id } = (await world.submitting({}, { key: other })).is(201).body();
      for (const [rest, body] of [
        ['cancel', {}],
        ['retry', { actionId: 'a', ifSeq: 1, reason: 'r' }],
        ['resolve', { actionId: 'a', ifSeq: 1, resolution: 'failed', reason: 'r' }],
      ] as const)
        await unknown(world, String(id), world.id('tsk'), (one) => ({
          method: 'POST',
          path: `/tasks/${one}/${rest}`,
          key,
          body,
        }));
      const { project } = (await world.get('/doctor', key)).is(200).body();
      const made = await world.newKey('task-producer');
      const task = (await world.submitting({}, { key: made.key })).is(201).body();
      same((await world.task(String(task.id))).id, task.id, `a task of project ${project}`);
    },
  },
  {
    name: 'isolation/pools-types-versions',
    title: 'gives a task only to claims that name its pool, type and version',
    promises: ['2.18'],
    async run(world) {
      const task = await world.submit({ schemaVersion: 2 });
      const worker = world.worker();
      const want = (type: string, schemaVersion: number) => ({
        want: [{ type, schemaVersion, slots: 1 }],
      });
      const type = task.type;
      for (const options of [
        { more: want(type, 1) },
        { more: want(type, 3) },
        { more: want(`${type}/more`, 2) },
        { more: want(type.replace('conformance', 'Conformance'), 2) },
        { more: want(type, 2), pools: ['default'] },
        { more: want(type, 2), pools: [`${world.pool}:b`, world.pool.toUpperCase()] },
      ])
        same(attemptsOf(await worker.claim([], options)), 0, 'attempts given to another claim');
      await notOffered(world, type);
      const seen = await worker.claim([], { more: want(type, 2) });
      same(attemptsOf(seen), 1, 'attempts given to the claim that names pool, type and version');
    },
  },
];
