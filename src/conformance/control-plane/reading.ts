import { expect, same, shown } from '../check.ts';
import { listed } from './faults.ts';
import type { ControlPlaneCase } from './index.ts';
import { failure, given } from './steps.ts';
import type { TaskShape } from './wire-shapes.ts';
import type { ControlPlaneWorld } from './world.ts';

type Listed = { readonly tasks: TaskShape[]; readonly cursor?: string };

/** Ids of a list in any order. */
const ids = (tasks: readonly Record<string, unknown>[]) => tasks.map(({ id }) => id).sort();

/** The list with this query holds these tasks and no others. */
async function holds(
  world: ControlPlaneWorld,
  query: string,
  expected: readonly { readonly id: string }[],
): Promise<void> {
  const { tasks } = (await world.get(`/tasks?${query}`)).is(200).body<Listed>();
  same(ids(tasks), ids([...expected]), `the tasks of GET /tasks?${query}`);
}

/** Every page of a list, `between` called after each. */
async function pages(
  world: ControlPlaneWorld,
  query: string,
  between: () => Promise<unknown>,
): Promise<TaskShape[]> {
  const all: TaskShape[] = [];
  let cursor: string | undefined;
  do {
    const at = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page = (await world.get(`/tasks?${query}${at}`)).is(200).body<Listed>();
    all.push(...page.tasks);
    cursor = page.cursor;
    await between();
    expect(all.length < 100, `GET /tasks?${query} has no end: ${all.length} tasks so far.`);
  } while (cursor !== undefined);
  return all;
}

/** Lists of tasks, and what they leave out. */
export const reading: readonly ControlPlaneCase[] = [
  {
    name: 'reading/filters',
    title: 'lists tasks by status, type, version, pool and label',
    promises: ['6.13'],
    async run(world) {
      const word = world.fresh('label');
      const type = world.type();
      const one = await world.submit({ labels: { case: word, n: '1' } });
      const two = await world.submit({ labels: { case: word, n: '2' }, schemaVersion: 2 });
      const three = await world.submit({ labels: { case: word }, pool: `${world.pool}:b` });
      const four = await world.submit({ labels: { other: word }, type: world.type('other') });
      (await world.post(`/tasks/${two.id}/cancel`, {})).is(200);
      await holds(world, `type=${type}`, [one, two, three]);
      await holds(world, `type=${type}&status=queued`, [one, three]);
      await holds(world, `type=${type}&status=cancelled`, [two]);
      await holds(world, `type=${type}&schemaVersion=2`, [two]);
      await holds(world, `pool=${encodeURIComponent(world.pool)}`, [one, two, four]);
      await holds(world, `label=${encodeURIComponent(`case=${word}`)}`, [one, two, three]);
      await holds(world, `label=${encodeURIComponent(`n=1`)}&type=${type}`, [one]);
    },
  },
  {
    name: 'reading/since-and-until',
    title: 'lists tasks that were submitted since and until an instant',
    promises: ['6.13'],
    async run(world) {
      const before = await world.submit();
      await world.pause(2_000);
      const after = await world.submit();
      const type = `type=${world.type()}`;
      const at = encodeURIComponent(new Date(Date.parse(after.createdAt) - 700).toISOString());
      await holds(world, `${type}&since=${at}`, [after]);
      await holds(world, `${type}&until=${at}`, [before]);
    },
  },
  {
    name: 'reading/needs-attention',
    title: 'lists what a person has to look at',
    promises: ['6.13'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      const unknown = { error: failure().error };
      (await worker.report(attempt, 'unknown', unknown)).is(200);
      await world.submit();
      await holds(world, `type=${world.type()}&needs=attention`, [task]);
    },
  },
  {
    name: 'reading/pages',
    title: 'lists each task once, page by page, while others come and some end',
    promises: ['6.13'],
    async run(world) {
      const there: TaskShape[] = [];
      for (let i = 0; i < 8; i++) there.push(await world.submit({ labels: { n: `${i}` } }));
      const ending = there.map(({ id }) => id);
      const all = await pages(world, `type=${world.type()}&limit=3`, async () => {
        await world.submit();
        (await world.post(`/tasks/${ending.shift()}/cancel`, {})).is(200);
      });
      const seen = ids(all);
      same(new Set(seen).size, seen.length, 'the number of different tasks in all pages');
      for (const { id, labels } of there)
        expect(
          seen.includes(id),
          `Task ${shown(labels)} was there all the time and is in no page.`,
        );
    },
  },
  {
    name: 'reading/include',
    title: 'leaves input and result out of lists unless they are asked for',
    promises: ['6.14'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { task: { input: { in: 1 } } });
      (await worker.report(attempt, 'complete', { result: { out: 2 } })).is(200);
      const one = async (more: string) => (await listed(world, task.type, more))[0] ?? {};
      const plain = await one('');
      same(
        [plain.id, plain.input, plain.result],
        [task.id, undefined, undefined],
        'the plain list',
      );
      const whole = await one('&include=input,result');
      same([whole.input, whole.result], [{ in: 1 }, { out: 2 }], 'input and result');
      const half = await one('&include=result');
      same([half.input, half.result], [undefined, { out: 2 }], 'input and result');
    },
  },
];
