import { same } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import {
  accepted,
  entries,
  failure,
  given,
  isNow,
  LONG_LEASE_MS,
  lost,
  oneLine,
  takenNotBefore,
  unchanged,
} from './steps.ts';
import type { AttemptOffer } from './wire-shapes.ts';
import type { WorkerActor } from './worker-actor.ts';
import type { ControlPlaneWorld } from './world.ts';

/** What an attempt may still say after it has ended as lost. */
export const lateReports: readonly ControlPlaneCase[] = [
  ...Object.entries({ complete: { result: 7 }, fail: failure(), unknown: failure() }).map(
    ([op, fields]): ControlPlaneCase => ({
      name: `late-reports/${op}`,
      title: `records the first ${op} after the loss, in the journal, and changes no status`,
      promises: ['1.24', '1.25', '1.26'],
      async run(world) {
        const { task, worker, attempt } = await given(world);
        (await worker.report(attempt, 'lost', lost())).is(200);
        const { status, attempts } = await world.task(task.id);
        const seen = await recorded(worker, attempt, op, fields);
        same(seen.replayed ?? false, false, '`replayed` of the first');
        for (const _ of [1, 2])
          same((await recorded(worker, attempt, op, fields)).replayed, true, '`replayed`');
        const late = await entries(world, task, 'late-report');
        same(
          late.map(({ attemptId }) => attemptId),
          [attempt.attemptId],
          'the attempts of the `late-report` entries',
        );
        const now = await world.task(task.id);
        same([now.status, now.attempts], [status, attempts], 'status and attempts of the task');
      },
    }),
  ),
  {
    name: 'late-reports/past-the-gate',
    title: 'records the result of a task that ended as outcome-unknown, and leaves it so',
    promises: ['1.24', '1.25', '1.31'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { passed: 'start' });
      (await worker.report(attempt, 'lost', lost())).is(200);
      await recorded(worker, attempt, 'complete', { result: 1 });
      await isNow(world, task, 'outcome-unknown');
      same((await entries(world, task, 'late-report')).length, 1, 'the `late-report` entries');
    },
  },
  {
    name: 'late-reports/after-the-lease',
    title: 'records the result that comes after the lease ran out and the attempt was ended',
    promises: ['1.24', '1.25'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { leaseMs: world.leaseMinMs });
      await world.taskIn(task.id, ['queued'], 2 * attempt.leaseMs + 20_000);
      await recorded(worker, attempt, 'complete', { result: 1 });
      await isNow(world, task, 'queued');
    },
  },
  {
    name: 'late-reports/only-the-first',
    title: 'records no second outcome of the same attempt',
    promises: ['1.24', '1.11', '1.16'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      (await worker.report(attempt, 'lost', lost())).is(200);
      await recorded(worker, attempt, 'complete', { result: 1 });
      await unchanged(world, task, async () => {
        await stale(worker, attempt, 'complete', { result: 2 });
        await stale(worker, attempt, 'fail', failure());
        await stale(worker, attempt, 'progress', { n: 1 });
        (await worker.report(attempt, 'renew')).refuses(409, 'LEASE_EXPIRED');
      });
    },
  },
  {
    name: 'late-reports/only-outcomes',
    title: 'answers every other report of a lost attempt with LEASE_EXPIRED, and opens no gate',
    promises: ['1.27'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      (await worker.report(attempt, 'lost', lost())).is(200);
      await unchanged(world, task, async () => {
        const others = {
          renew: {},
          start: {},
          effect: {},
          progress: { n: 1 },
          log: { n: 1, lines: oneLine },
          lost: lost('timeout'),
          release: { reason: 'no-slot' },
          cancelled: {},
        };
        for (const [op, fields] of Object.entries(others))
          (await worker.report(attempt, op, fields)).refuses(409, 'LEASE_EXPIRED');
      });
      await recorded(worker, attempt, 'complete', { result: 1 });
    },
  },
  {
    name: 'late-reports/not-after-a-later-attempt',
    title: 'records nothing once the task has a later attempt',
    promises: ['1.24', '1.11'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { leaseMs: world.leaseMinMs });
      const options = { leaseMs: LONG_LEASE_MS };
      const next = await takenNotBefore(world, task.type, world.clock.now(), options);
      await unchanged(world, task, async () => {
        await stale(worker, attempt, 'complete', { result: 1 });
        await stale(worker, attempt, 'renew');
      });
      accepted(await worker.report(next, 'complete', { result: 2 }), next, 'complete');
      await stale(worker, attempt, 'complete', { result: 1 });
      same((await world.task(task.id)).result, 2, 'the result of the task');
    },
  },
  {
    name: 'late-reports/taken',
    title: 'lets an operator take a recorded result',
    promises: ['1.25', '6.24'],
    needs: ['operator-key'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { policy: { maxAttempts: 1 } });
      (await worker.report(attempt, 'lost', lost())).is(200);
      await recorded(worker, attempt, 'complete', { result: { late: true } });
      const { seq } = await isNow(world, task, 'failed');
      await resolve(world, task.id, seq, 'late-report');
      const now = await isNow(world, task, 'succeeded');
      same(now.result, { late: true }, 'the result of the task');
    },
  },
  {
    name: 'late-reports/not-after-an-operator',
    title: 'records nothing once an operator has acted',
    promises: ['1.24', '1.11'],
    needs: ['operator-key'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { passed: 'start' });
      (await worker.report(attempt, 'lost', lost())).is(200);
      const { seq } = await isNow(world, task, 'outcome-unknown');
      await resolve(world, task.id, seq, 'failed');
      await unchanged(world, task, () => stale(worker, attempt, 'complete', { result: 1 }));
    },
  },
];

/** The outcome was too late and is kept. */
async function recorded(
  worker: WorkerActor,
  attempt: AttemptOffer,
  op: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const seen = await worker.report(attempt, op, fields);
  const body = seen.refuses(409, 'STALE_ATTEMPT').body();
  same(body.recorded, true, `\`recorded\` of a late ${op}`);
  return body;
}

async function stale(
  worker: WorkerActor,
  attempt: AttemptOffer,
  op: string,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const seen = await worker.report(attempt, op, fields);
  const { recorded: kept } = seen.refuses(409, 'STALE_ATTEMPT').body();
  same(kept ?? false, false, `\`recorded\` of ${op}`);
}

async function resolve(world: ControlPlaneWorld, id: string, ifSeq: number, resolution: string) {
  const body = { actionId: world.id('act'), ifSeq, resolution, reason: 'The case wants it so.' };
  (await world.post(`/tasks/${id}/resolve`, body, world.operatorKey)).is(200);
}
