import { expect, same, shown } from '../check.ts';
import type { Seen } from './caller.ts';
import { limitsOf, listed } from './faults.ts';
import type { ControlPlaneCase } from './index.ts';
import type { AttemptOffer } from './wire-shapes.ts';
import type { ControlPlaneWorld } from './world.ts';

type Item = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };

/** `POST /tasks/batch`; what was made is cancelled at the end. */
async function sending(world: ControlPlaneWorld, items: readonly unknown[]): Promise<Item[]> {
  const seen = (await world.post('/tasks/batch', items)).is(200);
  const answers = seen.body<Item[]>();
  expect(
    Array.isArray(answers) && answers.length === items.length,
    `The batch of ${items.length} was answered with ${Array.isArray(answers) ? `${answers.length} items` : shown(answers)}.`,
  );
  for (const { body } of answers) world.remember(body.id);
  return answers;
}

const statuses = (items: readonly Item[], expected: readonly number[]) =>
  same(
    items.map(({ status }) => status),
    expected,
    'the statuses of the items',
  );

async function nothingMade(world: ControlPlaneWorld, seen: Seen): Promise<void> {
  const code = seen.is(400, 413).status === 413 ? 'PAYLOAD_TOO_LARGE' : 'INVALID_REQUEST';
  seen.refuses(seen.status, code);
  same((await listed(world, world.type())).length, 0, 'the number of tasks that were made');
}

/** Many submissions in one call: each stands for itself. */
export const batch: readonly ControlPlaneCase[] = [
  {
    name: 'batch/in-order',
    title: 'answers each item in its place with status and body of the single call',
    promises: ['6.12'],
    async run(world) {
      const items = Array.from({ length: 7 }, (_, n) =>
        world.submission({ labels: { n: `${n}` } }),
      );
      const answers = await sending(world, items);
      for (const [n, { status, body }] of answers.entries()) {
        same(status, 201, `the status of item ${n}`);
        same(body.labels, { n: `${n}` }, `the labels of the task of item ${n}`);
        same((await world.task(String(body.id))).labels, { n: `${n}` }, 'the labels of the task');
      }
    },
  },
  {
    name: 'batch/one-bad-item',
    title: 'refuses a bad item alone, with the problem of the single call',
    promises: ['6.12'],
    async run(world) {
      const good = world.submission();
      const items = [good, world.submission({ type: 'no type' }), 'not an object', good];
      const answers = await sending(world, items);
      statuses(answers, [201, 400, 400, 201]);
      const { code, issues } = answers[1]?.body ?? {};
      same(code, 'INVALID_REQUEST', 'the code of the refused item');
      const paths = Array.isArray(issues) ? issues.map(({ path }) => String(path)) : [];
      expect(
        paths.some((path) => path.endsWith('type')),
        `The issues of the refused item are ${shown(issues)}; expected is the path type.`,
      );
      same((await listed(world, world.type())).length, 2, 'the number of tasks that were made');
    },
  },
  {
    name: 'batch/one-large-item',
    title: 'refuses an item over inlineBytes alone with 413',
    promises: ['6.12', '6.42'],
    async run(world) {
      const { inlineBytes } = await limitsOf(world);
      const large = world.submission({ input: 'x'.repeat(inlineBytes) });
      statuses(
        await sending(world, [world.submission(), large, world.submission()]),
        [201, 413, 201],
      );
    },
  },
  {
    name: 'batch/by-age',
    title: 'gives the tasks of a batch out in its order',
    promises: ['6.12', '2.19'],
    async run(world) {
      const items = Array.from({ length: 5 }, (_, input) => world.submission({ input }));
      await sending(world, items);
      const worker = world.worker();
      const inputs: unknown[] = [];
      while (inputs.length < items.length) {
        const attempt = await worker.claimOne(world.type());
        inputs.push(attempt.input);
        (await worker.report(attempt, 'complete', { result: null })).is(200);
      }
      same(inputs, [0, 1, 2, 3, 4], 'the order in which the tasks were given out');
    },
  },
  {
    name: 'batch/too-many',
    title: 'refuses a batch of more than limits.batch items whole',
    promises: ['9.26'],
    async run(world) {
      const { batch: most } = await limitsOf(world);
      const items = Array.from({ length: most + 1 }, () => world.submission());
      await nothingMade(world, await world.post('/tasks/batch', items));
    },
  },
  {
    name: 'batch/too-large',
    title: 'refuses a body over limits.batchBytes with 413 and makes no task of it',
    promises: ['9.25'],
    async run(world) {
      const { batchBytes } = await limitsOf(world);
      const text = JSON.stringify([world.submission()]);
      const sent = { method: 'POST', path: '/tasks/batch', key: world.keys.producer } as const;
      const tooLarge = text.replace(
        /.$/,
        (end) => `${' '.repeat(batchBytes + 1 - text.length)}${end}`,
      );
      const seen = await world.call({ ...sent, text: tooLarge });
      await nothingMade(world, seen.is(413));
      const fits = await world.call({ ...sent, text: tooLarge.replace(' ', '') });
      for (const { body } of fits.is(200).body<Item[]>()) world.remember(body.id);
    },
  },
  {
    name: 'batch/no-list',
    title: 'refuses a batch that is no list whole',
    promises: ['8.3', '6.2'],
    async run(world) {
      const { producer } = world.keys;
      const sent = { method: 'POST', path: '/tasks/batch', key: producer } as const;
      for (const body of [{}, { tasks: [world.submission()] }, 'x', null])
        await nothingMade(
          world,
          (await world.call({ ...sent, text: JSON.stringify(body) })).is(400),
        );
      const twice = JSON.stringify([world.submission()]).replace(
        '{',
        '{"priority":1,"priority":2,',
      );
      await nothingMade(world, (await world.call({ ...sent, text: twice })).is(400));
    },
  },
  {
    name: 'batch/claim-of-many',
    title: 'gives a worker as many of a batch as it asks for, each once',
    promises: ['2.17', '3.3'],
    async run(world) {
      await sending(
        world,
        Array.from({ length: 6 }, () => world.submission()),
      );
      const workers = [world.worker(), world.worker()];
      const claims = workers.map((worker) => worker.claim([world.type()], { max: 4 }));
      const attempts = (await Promise.all(claims)).map(
        (seen) => seen.is(200).body<{ attempts: AttemptOffer[] }>().attempts,
      );
      for (const some of attempts)
        expect(some.length <= 4, `A claim of at most 4 was given ${some.length} attempts.`);
      const ids = attempts.flat().map(({ taskId }) => taskId);
      same(ids.length, 6, 'the number of attempts given out');
      same(new Set(ids).size, 6, 'the number of tasks given out');
    },
  },
];
