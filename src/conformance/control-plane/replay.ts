import { expect, same } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import { accepted, entries, failure, given, lost, unchanged } from './steps.ts';
import type { AttemptOffer, TaskShape } from './wire-shapes.ts';
import type { WorkerActor } from './worker-actor.ts';
import type { ControlPlaneWorld } from './world.ts';

/** Reports that are said twice: what is a replay, and what never is one. */
export const replay: readonly ControlPlaneCase[] = [
  ...Object.entries({
    complete: { result: { z: 1, a: [1, 2, { y: null, b: 'x' }] } },
    fail: failure(true, { details: { z: 1, a: 2 } }),
    unknown: failure(),
    lost: { ...lost(), details: { signal: 'SIGKILL', exitCode: null } },
    release: { reason: 'no-slot', message: 'full' },
    cancelled: {},
  }).map(
    ([op, fields]): ControlPlaneCase => ({
      name: `replay/${op}`,
      title: `answers ${op} with the same body again, other member order included, as replayed`,
      promises: ['1.15', '1.17'],
      async run(world) {
        const { task, worker, attempt } = await given(world);
        if (op === 'cancelled') (await world.cancel(task.id)).is(200);
        accepted(await worker.report(attempt, op, fields), attempt, op);
        await sameAgain(world, { task, worker, attempt, op, fields });
      },
    }),
  ),
  {
    name: 'replay/batch-then-single',
    title: 'knows a report of a batch when it comes again alone, and within the same batch',
    promises: ['1.15', '1.17', '6.34'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      const item = worker.item(attempt, 'complete', { result: 1 });
      const seen = (await worker.batch([item, item])).is(200);
      const { results } = seen.body<{
        results: { status: number; body: { replayed?: unknown } }[];
      }>();
      same(
        results.map(({ status, body }) => [status, body.replayed ?? false]),
        [
          [200, false],
          [200, true],
        ],
        'status and `replayed` of the two items',
      );
      const again = await worker.report(attempt, 'complete', { result: 1 });
      same(accepted(again, attempt, 'complete').replayed, true, '`replayed` of the single report');
      same(
        (await entries(world, task, 'succeeded')).length,
        1,
        'the number of `succeeded` entries',
      );
    },
  },
  {
    name: 'replay/after-a-later-attempt',
    title: 'answers the repeated failure of an earlier attempt as replayed while a later one runs',
    promises: ['1.15'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      (await worker.report(attempt, 'fail', failure(true))).is(200);
      const next = await worker.claimOne(task.type);
      await sameAgain(world, { task, worker, attempt, op: 'fail', fields: failure(true) });
      accepted(await worker.report(next, 'complete', { result: 1 }), next, 'complete');
    },
  },
  {
    name: 'replay/another-body',
    title: 'refuses another terminal report, or the same one with another body, as stale',
    promises: ['1.16'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      (await worker.report(attempt, 'fail', failure(true))).is(200);
      const others: [string, object][] = [
        ['fail', failure(false)],
        ['fail', failure(true, { details: {} })],
        ['complete', { result: 1 }],
        ['unknown', failure(true)],
      ];
      await unchanged(world, task, async () => {
        for (const [op, fields] of others) {
          const seen = await worker.report(attempt, op, fields as Record<string, unknown>);
          seen.refuses(409, 'STALE_ATTEMPT');
        }
      });
    },
  },
  {
    name: 'replay/gates',
    title: 'answers start and effect again as replayed while the attempt runs, with one entry each',
    promises: ['1.18'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { effectGate: 'effect' });
      for (const op of ['start', 'effect']) {
        same(accepted(await worker.report(attempt, op), attempt, op).replayed ?? false, false, op);
        for (const _ of [1, 2]) {
          const again = accepted(await worker.report(attempt, op), attempt, op);
          same(again.replayed, true, `\`replayed\` of the repeated ${op}`);
        }
      }
      same((await entries(world, task, 'started')).length, 1, 'the number of `started` entries');
      const begun = await entries(world, task, 'effect-begun');
      same(begun.length, 1, 'the number of `effect-begun` entries');
    },
  },
  {
    name: 'replay/no-gate-after-the-end',
    title: 'never opens a gate by repeating its answer after the attempt has ended',
    promises: ['1.18'],
    async run(world) {
      const { task, worker, attempt } = await given(world, {
        effectGate: 'effect',
        effectSafety: 'idempotent',
        passed: 'effect',
      });
      (await worker.report(attempt, 'fail', failure(true))).is(200);
      for (const op of ['start', 'effect'])
        (await worker.report(attempt, op)).refuses(409, 'STALE_ATTEMPT');
      await worker.claimOne(task.type);
      for (const op of ['start', 'effect'])
        (await worker.report(attempt, op)).refuses(409, 'STALE_ATTEMPT');
    },
  },
  {
    name: 'replay/old-progress',
    title: 'answers a progress whose n is not above the last with 200 and keeps what it had',
    promises: ['1.21'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { effectSafety: 'pure' });
      const said = { n: 5, percent: 50, message: 'half', checkpoint: { at: 5 } };
      accepted(await worker.report(attempt, 'progress', said), attempt, 'progress');
      for (const n of [5, 4, 1]) {
        const old = { n, percent: n, message: 'old', checkpoint: { at: 'old' } };
        const seen = accepted(await worker.report(attempt, 'progress', old), attempt, 'progress');
        expect(Number(seen.leaseMs) > 0, 'The answer to an old progress does not tell its lease.');
      }
      const { progress } = await world.task(task.id);
      const { percent, message } = progress as { percent: unknown; message: unknown };
      same({ percent, message }, { percent: 50, message: 'half' }, 'the progress of the task');
      (await worker.report(attempt, 'fail', failure(true))).is(200);
      const next = await worker.claimOne(task.type);
      same(next.checkpoint, { at: 5 }, 'the checkpoint of the next attempt');
    },
  },
  {
    name: 'replay/old-log',
    title: 'keeps the lines of a log once, and counts n of log and of progress each for itself',
    promises: ['1.21'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { effectSafety: 'pure' });
      const log = (n: number, text: string) =>
        worker.report(attempt, 'log', {
          n,
          lines: [{ at: '2026-01-01T00:00:00.000Z', level: 'info', text }],
        });
      (await worker.report(attempt, 'progress', { n: 9 })).is(200);
      for (const [n, text] of [
        [1, 'one'],
        [1, 'one'],
        [2, 'two'],
        [1, 'one again'],
        [3, 'three'],
      ] as const)
        accepted(await log(n, text), attempt, 'log');
      const seen = await world.get(`/tasks/${task.id}/logs`);
      const { lines } = seen.is(200).body<{ lines: { text: string }[] }>();
      same(
        lines.map(({ text }) => text),
        ['one', 'two', 'three'],
        'the lines of the log',
      );
    },
  },
  {
    name: 'replay/never-a-renewal',
    title: 'answers the same renewal again as a renewal, not as a replay',
    promises: ['1.19', '6.32'],
    async run(world) {
      const { worker, attempt } = await given(world);
      for (const _ of [1, 2, 3]) {
        const body = accepted(await worker.report(attempt, 'renew'), attempt, 'renew');
        same(body.replayed ?? false, false, '`replayed` of a renewal');
        same(body.leaseMs, attempt.leaseMs, '`leaseMs` of a renewal');
      }
    },
  },
];

/** The report in every other form of the same: members in another order, in a batch. */
async function sameAgain(
  world: ControlPlaneWorld,
  said: {
    readonly task: TaskShape;
    readonly worker: WorkerActor;
    readonly attempt: AttemptOffer;
    readonly op: string;
    readonly fields: Readonly<Record<string, unknown>>;
  },
): Promise<void> {
  const { task, worker, attempt, op, fields } = said;
  await unchanged(world, task, async () => {
    const again = await worker.report(attempt, op, fields);
    same(accepted(again, attempt, op).replayed, true, `\`replayed\` of the repeated ${op}`);
    const { body, ...call } = worker.reporting(attempt, op, fields);
    const turned = await world.call({ ...call, body: backwards(body) });
    same(accepted(turned, attempt, op).replayed, true, `\`replayed\` of ${op} in another order`);
    const batch = await worker.batch([
      backwards(worker.item(attempt, op, fields)) as object as never,
    ]);
    const [result] = batch.is(200).body<{ results: { status: number; body: unknown }[] }>().results;
    same(result?.status, 200, `the status of ${op} in a batch`);
    const replayed = (result?.body as { replayed?: unknown })?.replayed;
    same(replayed, true, `\`replayed\` of ${op} in a batch`);
  });
}

/** The same JSON value with the members of its objects the other way round. */
function backwards(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(backwards);
  if (value === null || typeof value !== 'object') return value;
  const members = Object.entries(value).map(([name, inner]) => [name, backwards(inner)] as const);
  return Object.fromEntries(members.reverse());
}
