import { expect, same } from '../check.ts';
import type { Seen } from './caller.ts';
import { listed, refusesAt } from './faults.ts';
import type { ControlPlaneCase } from './index.ts';
import type { ControlPlaneWorld } from './world.ts';

/** The answer is the task that was there, and says so. */
function replays(seen: Seen, id: unknown): void {
  same(
    seen.is(200).body().id,
    id,
    'the id of the task that a repeated submission is answered with',
  );
  same(
    seen.headers.get('idempotency-replayed'),
    'true',
    'the header Idempotency-Replayed of a repeated submission',
  );
}

async function tasksAre(world: ControlPlaneWorld, count: number): Promise<void> {
  same((await listed(world, world.type())).length, count, 'the number of tasks that were made');
}

const conflicts = (seen: Seen) => seen.refuses(409, 'IDEMPOTENCY_CONFLICT');

/** A submission that is said again, and one that only looks like it. */
export const idempotency: readonly ControlPlaneCase[] = [
  {
    name: 'idempotency/same-request',
    title: 'answers the same request under the same key with the original task, 200 and replayed',
    promises: ['1.32', '6.9'],
    async run(world) {
      const fields = { idempotencyKey: world.id('key'), input: { a: [1, 'x'] } };
      const first = (await world.submitting(fields)).is(201);
      same(first.headers.get('idempotency-replayed'), null, 'Idempotency-Replayed of the first');
      for (let i = 0; i < 2; i++) replays(await world.submitting(fields), first.body().id);
      await tasksAre(world, 1);
    },
  },
  {
    name: 'idempotency/other-spelling',
    title: 'takes another order of names and another spelling of the same values as the same',
    promises: ['1.32'],
    async run(world) {
      const text = (input: string) => {
        const { input: _, ...rest } = world.submission({ idempotencyKey: key });
        return JSON.stringify(rest).replace('{', `{"input":${input},`);
      };
      const key = world.id('key');
      const first = (await world.submitting({}, { text: text('{"a":100,"b":"é","c":0.5}') })).is(
        201,
      );
      const { id } = first.body();
      for (const input of [
        '{"c":0.5,"b":"é","a":100}',
        '{"a":1e2,"b":"\\u00e9","c":5e-1}',
        '{ "a" : 100.0,\n"b":"\\u00E9", "c":0.50 }',
      ])
        replays(await world.submitting({}, { text: text(input) }), id);
      const turned = Object.entries(
        world.submission({ idempotencyKey: key, input: { a: 100, b: 'é', c: 0.5 } }),
      ).reverse();
      replays(await world.submitting({}, { body: Object.fromEntries(turned) }), id);
    },
  },
  {
    name: 'idempotency/other-request',
    title: 'answers another request under a used key with a conflict, and makes no task',
    promises: ['1.33'],
    async run(world) {
      const idempotencyKey = world.id('key');
      const base = { idempotencyKey, input: { a: 1 }, labels: { x: '1' } };
      (await world.submitting(base)).is(201);
      const others = [
        { input: { a: 2 } },
        { input: { a: '1' } },
        { labels: { x: '2' } },
        { schemaVersion: 2 },
        { priority: 1 },
        { policy: { maxAttempts: 1 } },
      ];
      for (const fields of others) conflicts(await world.submitting({ ...base, ...fields }));
      await tasksAre(world, 1);
    },
  },
  {
    name: 'idempotency/before-defaults',
    title: 'compares requests as they were sent, before defaults',
    promises: ['1.32', '1.33'],
    async run(world) {
      const idempotencyKey = world.id('key');
      (await world.submitting({ idempotencyKey })).is(201);
      conflicts(await world.submitting({ idempotencyKey, priority: 0 }));
      conflicts(await world.submitting({ idempotencyKey, policy: {} }));
    },
  },
  {
    name: 'idempotency/header-differs',
    title: 'refuses an Idempotency-Key header that differs from the body, and makes no task',
    promises: ['6.11'],
    async run(world) {
      const idempotencyKey = world.id('key');
      const headers = { 'idempotency-key': world.id('other') };
      refusesAt(await world.submitting({ idempotencyKey }, { headers }), 'idempotencyKey');
      await tasksAre(world, 0);
      const equal = { 'idempotency-key': idempotencyKey };
      (await world.submitting({ idempotencyKey }, { headers: equal })).is(201);
    },
  },
  {
    name: 'idempotency/at-the-same-time',
    title: 'makes one task of twenty submissions at the same time',
    promises: ['1.32'],
    async run(world) {
      const fields = { idempotencyKey: world.id('key') };
      const seen = await Promise.all(Array.from({ length: 20 }, () => world.submitting(fields)));
      const made = seen.filter(({ status }) => status === 201);
      same(made.length, 1, 'the number of submissions that were answered 201');
      for (const one of seen) if (one !== made[0]) replays(one, made[0]?.body().id);
      await tasksAre(world, 1);
    },
  },
  {
    name: 'idempotency/after-the-end',
    title: 'keeps a key beyond the end of its task',
    promises: ['1.32', '1.33'],
    async run(world) {
      const fields = { idempotencyKey: world.id('key') };
      const { id } = await world.submit(fields);
      (await world.post(`/tasks/${id}/cancel`, {})).is(200);
      const again = await world.submitting(fields);
      replays(again, id);
      same(again.body().status, 'cancelled', 'the status of the task');
      conflicts(await world.submitting({ ...fields, input: 'another' }));
    },
  },
  {
    name: 'idempotency/in-a-batch',
    title: 'knows keys of single calls in a batch, and of one item in the next',
    promises: ['1.32', '1.33', '6.12'],
    async run(world) {
      const first = world.submission({ idempotencyKey: world.id('key') });
      const second = world.submission({ idempotencyKey: world.id('key'), input: 2 });
      const { id } = (await world.submitting({}, { body: first })).is(201).body();
      const batch = [first, { ...first, input: 'another' }, second, second];
      const seen = (await world.post('/tasks/batch', batch)).is(200);
      const items = seen.body<{ status: number; body: { id?: string } }[]>();
      for (const { body } of items) world.remember(body.id);
      same(
        items.map(({ status }) => status),
        [200, 409, 201, 200],
        'the statuses of the items',
      );
      same(items[0]?.body.id, id, 'the id of the task of the first item');
      expect(
        items[2]?.body.id !== undefined && items[3]?.body.id === items[2].body.id,
        'The last two items of the batch, which are the same, are two tasks.',
      );
    },
  },
];
