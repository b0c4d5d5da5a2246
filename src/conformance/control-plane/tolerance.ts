import { NotApplicable } from '../case.ts';
import { same } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import { said } from './presence.ts';
import { accepted, entries, failure, given, isNow, lost, oneLine, unchanged } from './steps.ts';
import type { AttemptOffer } from './wire-shapes.ts';

/** Workers of another time: ops that are not served, fields that nobody knows yet, and the shape of every answer. */
export const tolerance: readonly ControlPlaneCase[] = [
  {
    name: 'tolerance/unknown-op',
    title: 'refuses an op that it does not know, alone and in a batch, and changes nothing',
    promises: ['7.9', '6.34'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      await unchanged(world, task, async () => {
        const alone = await worker.report(attempt, 'teleport', { to: 'the moon' });
        alone.refuses(400, 'UNSUPPORTED_OPERATION');
        const items = [worker.item(attempt, 'teleport'), worker.item(attempt, 'renew')];
        const results = resultsOf((await worker.batch(items)).is(200));
        same(
          results.map(({ status, body }) => [status, body.code ?? body.accepted]),
          [
            [400, 'UNSUPPORTED_OPERATION'],
            [200, true],
          ],
          'the results of the batch',
        );
      });
    },
  },
  {
    name: 'tolerance/unserved-op',
    title: 'refuses the op stream where its features do not list it',
    promises: ['7.9'],
    async run(world) {
      const { features } = (await world.get('/')).is(200).body<{ features?: unknown }>();
      if (JSON.stringify(features ?? []).includes('"stream"'))
        throw new NotApplicable('it serves the op stream.');
      const { worker, attempt } = await given(world);
      const fields = { chunks: [{ seq: 1, data: 'x' }] };
      (await worker.report(attempt, 'stream', fields)).refuses(400, 'UNSUPPORTED_OPERATION');
    },
  },
  {
    name: 'tolerance/fields-of-reports',
    title: 'ignores unknown fields of reports, alone and in a batch',
    promises: ['7.5'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { effectGate: 'effect' });
      const bodies = {
        renew: {},
        start: {},
        progress: { n: 1, percent: 1 },
        log: { n: 1, lines: [{ at: 'now', level: 'shout', text: 'x', colour: 'red' }] },
        effect: {},
        fail: failure(false, { severity: 'low' }),
      };
      for (const [op, fields] of Object.entries(bodies))
        accepted(await worker.report(attempt, op, { ...fields, ...unheardOf }), attempt, op);
      const ended = await isNow(world, task, 'failed');
      same(ended.error?.code, 'KIT_SAID_SO', 'the code of the error');
      const other = await given(world, { worker, word: 'batch' });
      const item = worker.item(other.attempt, 'complete', { result: 1, ...unheardOf });
      const [result] = resultsOf((await worker.batch([item])).is(200));
      same(result?.status, 200, 'the status of the item');
      await isNow(world, other.task, 'succeeded');
    },
  },
  {
    name: 'tolerance/fields-of-claims-and-presence',
    title: 'ignores unknown fields of claims and presence',
    promises: ['7.5'],
    async run(world) {
      const worker = world.worker();
      const handlers = [{ type: world.type(), schemaVersion: 1, ...unheardOf }];
      await said(worker, world, { ...unheardOf, handlers });
      const task = await world.submit();
      const want = [{ type: task.type, schemaVersion: 1, slots: 1, ...unheardOf }];
      const attempt = await worker.claimOne(task.type, { more: { ...unheardOf, want } });
      same(attempt.taskId, task.id, 'the task of the attempt');
    },
  },
  {
    name: 'tolerance/accepted',
    title: 'answers every accepted report with its own names, and a lease where it does not end',
    promises: ['6.31', '6.32'],
    async run(world) {
      const worker = world.worker();
      const { attempt } = await given(world, { worker, effectGate: 'effect' });
      for (const op of ['renew', 'start', 'progress', 'log', 'effect']) {
        const body = accepted(
          await worker.report(attempt, op, { n: 1, lines: oneLine }),
          attempt,
          op,
        );
        same(body.leaseMs, attempt.leaseMs, `\`leaseMs\` of the answer to ${op}`);
      }
      const ends = {
        complete: { result: null },
        fail: failure(),
        unknown: failure(),
        lost: lost(),
        release: { reason: 'no-handler' },
      };
      for (const [op, fields] of Object.entries(ends)) {
        const held = await given(world, { worker, word: op });
        accepted(await worker.report(held.attempt, op, fields), held.attempt, op);
      }
    },
  },
  {
    name: 'tolerance/batch-of-reports',
    title: 'answers the reports of a batch in order, each for itself',
    promises: ['6.34', '6.31'],
    async run(world) {
      const worker = world.worker();
      const one = await given(world, { worker, word: 'one' });
      const two = await given(world, { worker, word: 'two' });
      const unknown: AttemptOffer = { ...two.attempt, attemptId: world.id('att') };
      const results = resultsOf(
        (
          await worker.batch([
            worker.item(one.attempt, 'start'),
            worker.item(one.attempt, 'complete', { result: 1, fence: 1_000 }),
            worker.item(unknown, 'renew'),
            { op: 'complete', attemptId: two.attempt.attemptId },
            worker.item(one.attempt, 'complete', { result: 2 }),
            worker.item(two.attempt, 'release', { reason: 'drain' }),
          ])
        ).is(200),
      );
      same(
        results.map(({ status, body }) => [status, body.code ?? body.op]),
        [
          [200, 'start'],
          [409, 'STALE_ATTEMPT'],
          [404, 'NOT_FOUND'],
          [400, 'INVALID_REQUEST'],
          [200, 'complete'],
          [200, 'release'],
        ],
        'the results of the batch',
      );
      same((await isNow(world, one.task, 'succeeded')).result, 2, 'the result of the first task');
      const kinds = (await world.events(one.task.id)).map(({ kind }) => kind);
      same(kinds, ['submitted', 'leased', 'started', 'succeeded'], 'the entries of the first task');
      same((await entries(world, two.task, 'released')).length, 1, 'the `released` entries');
    },
  },
];

/** Fields that no version of the contract has. */
const unheardOf = { unheardOf: { of: ['a', 1, null] }, alsoUnheardOf: true };

function resultsOf(seen: { body<T>(): T }) {
  return seen.body<{ results: { status: number; body: Record<string, unknown> }[] }>().results;
}
