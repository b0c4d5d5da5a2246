import { same } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import {
  accepted,
  entries,
  failure,
  type GivenOptions,
  given,
  isNow,
  lost,
  notOffered,
  oneLine,
} from './steps.ts';

const pure: GivenOptions = { effectSafety: 'pure', passed: 'start' };
const effectGate: GivenOptions = { effectGate: 'effect', passed: 'start' };
const past: GivenOptions = { passed: 'start' };

/** A cancel of a running task: who is told, and what becomes of the task in every row of the table. */
export const cancel: readonly ControlPlaneCase[] = [
  {
    name: 'cancel/told-in-answers',
    title: 'tells a requested cancel in the answers to that attempt’s reports, and to no other',
    promises: ['4.26', '6.17'],
    async run(world) {
      const worker = world.worker();
      const { task, attempt } = await given(world, { worker, effectGate: 'effect' });
      const other = await given(world, { worker, word: 'other' });
      const before = accepted(await worker.report(attempt, 'renew'), attempt, 'renew');
      same(before.cancelRequested ?? false, false, '`cancelRequested` before the cancel');
      (await world.cancel(task.id)).is(200);
      await isNow(world, task, 'running');
      for (const op of ['renew', 'start', 'progress', 'log', 'effect']) {
        const body = accepted(
          await worker.report(attempt, op, { n: 1, lines: oneLine }),
          attempt,
          op,
        );
        same(body.cancelRequested, true, `\`cancelRequested\` in the answer to ${op}`);
      }
      const untold = accepted(await worker.report(other.attempt, 'renew'), other.attempt, 'renew');
      same(untold.cancelRequested ?? false, false, '`cancelRequested` of another attempt');
      same((await entries(world, task, 'cancel-requested')).length, 1, 'the entries of the cancel');
    },
  },
  {
    name: 'cancel/not-cancelling',
    title: 'refuses `cancelled` where nobody asked for it',
    promises: ['4.25'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      (await worker.report(attempt, 'cancelled')).refuses(409, 'NOT_CANCELLING');
      await isNow(world, task, 'running');
      accepted(await worker.report(attempt, 'complete', { result: 1 }), attempt, 'complete');
    },
  },
  ...rows([
    ['obeyed-left', 'cancelled', {}, 'cancelled', {}, ['4.22']],
    ['obeyed-before-effect', 'cancelled', {}, 'cancelled', effectGate, ['4.22']],
    ['obeyed-pure', 'cancelled', {}, 'cancelled', pure, ['4.22']],
    ['obeyed-right', 'cancelled', {}, 'outcome-unknown', past, ['4.23']],
    ['completed-left', 'complete', { result: 1 }, 'succeeded', pure, ['4.24']],
    ['completed-right', 'complete', { result: 1 }, 'succeeded', past, ['4.24']],
    ['retryable-failure', 'fail', failure(true), 'cancelled', pure, ['4.21']],
    ['failure', 'fail', failure(false), 'failed', pure, ['4.12']],
    ['failure-right', 'fail', failure(true), 'failed', past, ['4.10']],
    ['unknown', 'unknown', failure(), 'outcome-unknown', pure, ['4.11']],
    ['lost-left', 'lost', lost('cancel'), 'cancelled', pure, ['4.21']],
    ['lost-right', 'lost', lost('cancel'), 'outcome-unknown', past, ['4.15']],
    ['released', 'release', { reason: 'no-slot' }, 'cancelled', {}, ['4.21']],
  ]),
];

type Row = readonly [
  name: string,
  op: string,
  fields: Readonly<Record<string, unknown>>,
  status: string,
  given: GivenOptions,
  promises: readonly string[],
];

/** What the worker reports after a cancel was requested, and what the task is then. */
function rows(all: readonly Row[]): ControlPlaneCase[] {
  return all.map(([name, op, fields, status, options, promises]) => ({
    name: `cancel/${name}`,
    title: `makes a task ${status} whose attempt answers a cancel with ${op} (${name})`,
    promises,
    async run(world) {
      const { task, worker, attempt } = await given(world, options);
      (await world.cancel(task.id)).is(200);
      accepted(await worker.report(attempt, op, fields), attempt, op);
      await isNow(world, task, status);
      await notOffered(world, task.type);
    },
  }));
}
