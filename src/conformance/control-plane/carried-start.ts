import { NotApplicable } from '../case.ts';
import { same } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import { accepted, entries, failure, given, unchanged } from './steps.ts';
import type { ControlPlaneWorld } from './world.ts';

const codeHash = 'c0de'.repeat(16);
const outcomes = { complete: { result: 1 }, fail: failure(), unknown: failure() };
/** Those whose `start` is not the gate. */
const open = [
  { word: 'pure', effectSafety: 'pure' },
  { word: 'idempotent', effectSafety: 'idempotent' },
  { word: 'effect', effectSafety: 'non-idempotent', effectGate: 'effect' },
] as const;

/** Outcomes that carry the `start` of their attempt (feature `start-in-outcome`). */
export const carriedStart: readonly ControlPlaneCase[] = [
  {
    name: 'carried-start/taken',
    title: 'takes an outcome that carries a start as that start and the outcome',
    promises: ['4.45', '5.60'],
    async run(world) {
      await offered(world);
      for (const options of open)
        for (const [op, fields] of Object.entries(outcomes)) {
          const word = `${options.word}-${op}`;
          const { task, worker, attempt } = await given(world, { ...options, word });
          const end = { ...fields, start: { codeHash } };
          accepted(await worker.report(attempt, op, end), attempt, op);
          const journal = await world.events(task.id);
          const kinds = journal.map(({ kind }) => kind).slice(0, 4);
          const ended = { complete: 'succeeded', fail: 'failed', unknown: 'unknown' }[op];
          same(kinds, ['submitted', 'leased', 'started', ended], `the journal, ${word}`);
          const hash = journal[2]?.data.codeHash;
          same(hash, codeHash, `\`data.codeHash\` of the started entry, ${word}`);
          const gateSkipped = journal[3]?.data.gateSkipped;
          same(gateSkipped, undefined, `\`data.gateSkipped\` of its end, ${word}`);
          same((await world.task(task.id)).attempts, 1, `the attempts of the task, ${word}`);
        }
    },
  },
  {
    name: 'carried-start/once',
    title: 'takes the start of an outcome as said once where a start was accepted before',
    promises: ['4.45'],
    async run(world) {
      await offered(world);
      const { task, worker, attempt } = await given(world, { ...open[0], passed: 'start' });
      const end = worker.item(attempt, 'complete', { result: 1, start: { codeHash } });
      (await worker.batch([end])).is(200);
      const started = await entries(world, task, 'started');
      same(started.length, 1, 'the number of `started` entries');
      same(started[0]?.data.codeHash, undefined, 'the codeHash of the `started` entry');
      same((await world.task(task.id)).attempts, 1, 'the attempts of the task');
    },
  },
  {
    name: 'carried-start/no-gate',
    title: 'opens no gate by the start of an outcome',
    promises: ['4.46', '3.4'],
    async run(world) {
      await offered(world);
      for (const [op, fields] of Object.entries({ complete: { result: 1 }, fail: failure() })) {
        const { task, worker, attempt } = await given(world, { word: op });
        const end = { ...fields, start: { codeHash } };
        accepted(await worker.report(attempt, op, end), attempt, op);
        same((await entries(world, task, 'started')).length, 0, 'the number of `started` entries');
        const [ended] = await entries(world, task, op === 'fail' ? 'failed' : 'succeeded');
        same(ended?.data.gateSkipped, true, '`data.gateSkipped` of its end');
        same(ended?.data.gatePassed ?? false, false, '`data.gatePassed` of its end');
        const { error } = await world.task(task.id);
        same(error?.effect, undefined, '`error.effect` of the task');
      }
    },
  },
  {
    name: 'carried-start/same-report',
    title: 'takes an outcome with its start and without it as the same report',
    promises: ['1.39', '1.15'],
    async run(world) {
      await offered(world);
      const [pure] = open;
      for (const [op, fields] of Object.entries(outcomes)) {
        const carried = { ...fields, start: { codeHash } };
        for (const [first, again] of [
          [carried, fields],
          [fields, carried],
          [carried, { ...fields, start: {} }],
        ] as const) {
          const { task, worker, attempt } = await given(world, { ...pure, word: op });
          accepted(await worker.report(attempt, op, first), attempt, op);
          await unchanged(world, task, async () => {
            const seen = accepted(await worker.report(attempt, op, again), attempt, op);
            same(seen.replayed, true, `\`replayed\` of the repeated ${op}`);
          });
        }
      }
    },
  },
  {
    name: 'carried-start/odd',
    title: 'takes an outcome whose start cannot be read as one without it',
    promises: ['4.45'],
    async run(world) {
      await offered(world);
      for (const start of [null, true, 7, 'now', []])
        for (const [op, fields] of Object.entries(outcomes)) {
          const { task, worker, attempt } = await given(world, open[0]);
          accepted(await worker.report(attempt, op, { ...fields, start }), attempt, op);
          const started = await entries(world, task, 'started');
          const what = `\`started\` entries after ${op} with \`start: ${JSON.stringify(start)}\``;
          same(started.length, 0, what);
        }
    },
  },
];

/** @throws NotApplicable where it is no feature. */
async function offered(world: ControlPlaneWorld): Promise<void> {
  const { features } = (await world.get('/')).is(200).body<{ features?: readonly unknown[] }>();
  if (!features?.includes('start-in-outcome'))
    throw new NotApplicable('its features do not list start-in-outcome.');
}
