import { expect, same } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import { accepted, failure, given, isNow, lost, oneLine, unchanged } from './steps.ts';

/** Who may report on an attempt: the four fields, and what an attempt that is over may still say. */
export const fencing: readonly ControlPlaneCase[] = [
  {
    name: 'fencing/wrong-fence',
    title: 'refuses a report with another fence as stale, and the task stays as it is',
    promises: ['1.9'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      for (const fence of [attempt.fence + 1, attempt.fence + 1_000_000]) {
        const seen = await worker.report(attempt, 'complete', { result: 1, fence });
        seen.refuses(409, 'STALE_ATTEMPT');
      }
      await isNow(world, task, 'running');
      accepted(await worker.report(attempt, 'complete', { result: 2 }), attempt, 'complete');
      same((await world.task(task.id)).result, 2, 'the result of the task');
    },
  },
  {
    name: 'fencing/wrong-token',
    title: 'refuses every op with another lease token as stale, and changes nothing',
    promises: ['1.9'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      // Not the last one, of which some bits may mean nothing.
      const first = attempt.leaseToken.startsWith('A') ? 'B' : 'A';
      for (const leaseToken of [first + attempt.leaseToken.slice(1), 'guessed'])
        await unchanged(world, task, async () => {
          for (const [op, fields] of Object.entries(everyOp))
            (await worker.report(attempt, op, { ...fields, leaseToken })).refuses(
              409,
              'STALE_ATTEMPT',
            );
        });
    },
  },
  {
    name: 'fencing/wrong-task',
    title: 'refuses a report that names another task as stale, and neither task changes',
    promises: ['1.9'],
    async run(world) {
      const worker = world.worker();
      const one = await given(world, { worker });
      const two = await given(world, { worker });
      const fields = { result: 1, taskId: two.task.id };
      const seen = await worker.report(one.attempt, 'complete', fields);
      seen.refuses(409, 'STALE_ATTEMPT');
      await isNow(world, one.task, 'running');
      await isNow(world, two.task, 'running');
    },
  },
  {
    name: 'fencing/token-of-another-attempt',
    title: 'refuses the token of an earlier attempt of the same task',
    promises: ['1.9'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      (await worker.report(attempt, 'release', { reason: 'drain' })).is(200);
      const next = await worker.claimOne(task.type);
      const { leaseToken } = attempt;
      const seen = await worker.report(next, 'complete', { result: 1, leaseToken });
      seen.refuses(409, 'STALE_ATTEMPT');
      await isNow(world, task, 'running');
    },
  },
  {
    name: 'fencing/unknown-attempt',
    title: 'answers a report for an attempt that never was with 404, its kind and the project',
    promises: ['1.8', '8.4'],
    async run(world) {
      const { worker, attempt } = await given(world);
      const seen = await worker.report({ ...attempt, attemptId: world.id('att') }, 'renew');
      const { kind, project } = seen.refuses(404, 'NOT_FOUND').body();
      same(kind, 'attempt', 'the kind of the 404');
      expect(typeof project === 'string' && project !== '', 'The 404 does not name the project.');
    },
  },
  {
    name: 'fencing/foreign-attempt',
    title:
      'answers a worker of another project with 404, with the right fields and with wrong ones',
    promises: ['1.8', '9.9'],
    needs: ['other-project'],
    async run(world) {
      const { task, attempt } = await given(world);
      const stranger = world.worker({ key: world.keys.otherWorker as string });
      await unchanged(world, task, async () => {
        for (const fields of [{}, { fence: attempt.fence + 1 }, { leaseToken: 'guessed' }]) {
          const seen = await stranger.report(attempt, 'complete', { result: 1, ...fields });
          same(seen.refuses(404, 'NOT_FOUND').body().kind, 'attempt', 'the kind of the 404');
        }
      });
    },
  },
  {
    name: 'fencing/token-before-replay',
    title: 'compares the four fields before it looks for a replay',
    promises: ['1.10'],
    async run(world) {
      const { worker, attempt } = await given(world);
      (await worker.report(attempt, 'complete', { result: 1 })).is(200);
      for (const wrong of [{ leaseToken: 'guessed' }, { fence: attempt.fence + 1 }]) {
        const seen = await worker.report(attempt, 'complete', { result: 1, ...wrong });
        same(seen.refuses(409, 'STALE_ATTEMPT').body().replayed, undefined, 'its `replayed`');
      }
    },
  },
  {
    name: 'fencing/old-attempt',
    title: 'takes nothing from an attempt that is over once the task has a later one',
    promises: ['1.11'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      (await worker.report(attempt, 'lost', lost())).is(200);
      const next = await worker.claimOne(task.type);
      await unchanged(world, task, async () => {
        for (const [op, fields] of Object.entries(everyOp)) {
          const seen = await worker.report(attempt, op, fields);
          seen.refuses(409, 'STALE_ATTEMPT');
        }
      });
      accepted(await worker.report(next, 'complete', { result: 2 }), next, 'complete');
    },
  },
  {
    name: 'fencing/ended-attempt',
    title: 'takes no start, effect, progress or log of an attempt that has ended',
    promises: ['1.11', '1.18', '3.2'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { passed: 'start' });
      (await worker.report(attempt, 'complete', { result: 1 })).is(200);
      await unchanged(world, task, async () => {
        for (const op of ['start', 'effect', 'progress', 'log'] as const)
          (await worker.report(attempt, op, everyOp[op])).refuses(409, 'STALE_ATTEMPT');
      });
    },
  },
  {
    name: 'fencing/renew-after-its-report',
    title: 'answers a renewal after an accepted outcome or release with LEASE_EXPIRED',
    promises: ['1.12'],
    async run(world) {
      const worker = world.worker();
      const ends = { complete: { result: 1 }, fail: failure(), release: { reason: 'no-handler' } };
      for (const [op, fields] of Object.entries(ends)) {
        const { attempt } = await given(world, { worker, word: op });
        (await worker.report(attempt, op, fields)).is(200);
        (await worker.report(attempt, 'renew')).refuses(409, 'LEASE_EXPIRED');
      }
    },
  },
  {
    name: 'fencing/fence-rises',
    title: 'raises the fence by one with each attempt and gives each the same effect key',
    promises: ['1.4', '1.6'],
    async run(world) {
      const worker = world.worker();
      for (const effectKey of [undefined, world.fresh('effect')]) {
        const word = effectKey ? 'named' : 'own';
        const task = { ...(effectKey && { effectKey }) };
        const first = await given(world, { worker, word, policy: {}, task });
        let { attempt } = first;
        for (const end of ['fail', 'lost', 'release']) {
          same(attempt.effectKey, effectKey ?? first.task.id, 'the effect key of an attempt');
          const fields = { ...failure(true), ...lost(), reason: 'drain' };
          (await worker.report(attempt, end, fields)).is(200);
          const next = await worker.claimOne(first.task.type);
          same(next.fence, attempt.fence + 1, 'the fence of the next attempt');
          attempt = next;
        }
      }
    },
  },
  {
    name: 'fencing/terminal-stays',
    title: 'changes nothing of a task that has ended, whatever is reported',
    promises: ['1.31', '1.16'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      (await worker.report(attempt, 'complete', { result: 'first' })).is(200);
      await unchanged(world, task, async () => {
        for (const op of ['complete', 'fail', 'unknown', 'lost', 'cancelled', 'release'] as const)
          (await worker.report(attempt, op, everyOp[op])).refuses(409, 'STALE_ATTEMPT');
      });
      same((await world.task(task.id)).result, 'first', 'the result of the task');
    },
  },
];

/** One of each, well formed. */
const everyOp = {
  renew: {},
  start: {},
  effect: {},
  progress: { n: 1_000, percent: 99 },
  log: { n: 1_000, lines: oneLine },
  complete: { result: 'another' },
  fail: failure(),
  unknown: failure(),
  cancelled: {},
  lost: lost('host-died', false),
  release: { reason: 'no-slot' },
} as const;
