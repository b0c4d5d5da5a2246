import { same } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import { accepted, entries, given, isNow, lost } from './steps.ts';

/** Attempts that are given back. */
export const release: readonly ControlPlaneCase[] = [
  {
    name: 'release/queued-again',
    title: 'queues a released task again at once for drain, without using up an attempt',
    promises: ['4.18', '4.29', '4.31', '4.32'],
    async run(world) {
      const backoff = { initialMs: 3_600_000, factor: 1, maxMs: 3_600_000, jitter: 0 };
      const policy = { maxAttempts: 1, backoff };
      const { task, worker, attempt } = await given(world, { policy });
      let held = attempt;
      for (const undelivered of [1, 2, 3]) {
        accepted(await worker.report(held, 'release', { reason: 'drain' }), held, 'release');
        const now = await isNow(world, task, 'queued');
        same([now.attempts, now.undelivered], [0, undelivered], 'attempts and undelivered');
        held = await worker.claimOne(task.type);
        same([held.attempt, held.fence], [1, undelivered + 1], 'number and fence of the next');
      }
      same((await entries(world, task, 'released')).length, 3, 'the number of `released` entries');
    },
  },
  {
    name: 'release/not-past-the-gate',
    title: 'takes no attempt back that is past its gate, and lets it go on',
    promises: ['4.19'],
    async run(world) {
      const worker = world.worker();
      for (const options of [
        { word: 'start', passed: 'start' },
        { word: 'effect', passed: 'effect', effectGate: 'effect' },
      ] as const) {
        const { task, attempt } = await given(world, { worker, ...options });
        const seen = await worker.report(attempt, 'release', { reason: 'drain' });
        seen.refuses(409, 'NOT_RELEASABLE');
        await isNow(world, task, 'running');
        accepted(await worker.report(attempt, 'complete', { result: 1 }), attempt, 'complete');
      }
    },
  },
  {
    name: 'release/begun-left-of-the-gate',
    title: 'takes a started attempt back that is left of its gate, and counts it as undelivered',
    promises: ['4.18', '4.29'],
    async run(world) {
      const worker = world.worker();
      for (const options of [
        { word: 'pure', passed: 'start', effectSafety: 'pure' },
        { word: 'idempotent', passed: 'effect', effectSafety: 'idempotent' },
        { word: 'before-effect', passed: 'start', effectGate: 'effect' },
      ] as const) {
        const { task, attempt } = await given(world, { worker, ...options });
        const seen = await worker.report(attempt, 'release', { reason: 'no-slot' });
        accepted(seen, attempt, 'release');
        const now = await isNow(world, task, 'queued');
        same([now.attempts, now.undelivered], [0, 1], `attempts and undelivered, ${options.word}`);
      }
    },
  },
  {
    name: 'release/undeliverable',
    title: 'ends a task as UNDELIVERABLE after 20 undelivered attempts, and not sooner',
    promises: ['4.30'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      let held = attempt;
      for (let undelivered = 1; undelivered <= 19; undelivered++) {
        const fields = undelivered % 2 === 0 ? { reason: 'drain' } : lost('drain', false);
        const op = undelivered % 2 === 0 ? 'release' : 'lost';
        (await worker.report(held, op, fields)).is(200);
        held = await worker.claimOne(task.type);
      }
      same((await isNow(world, task, 'running')).undelivered, 19, 'the undelivered attempts');
      (await worker.report(held, 'release', { reason: 'drain' })).is(200);
      const ended = await isNow(world, task, 'failed');
      same([ended.error?.code, ended.undelivered], ['UNDELIVERABLE', 20], 'code and undelivered');
    },
  },
];
