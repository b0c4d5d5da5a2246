import { expect, oneOf, same } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import {
  accepted,
  entries,
  failure,
  type Given,
  given,
  isNow,
  LONG_LEASE_MS,
  lost,
  soon,
  steady,
  tooSlow,
} from './steps.ts';
import type { AttemptOffer } from './wire-shapes.ts';
import type { ControlPlaneWorld } from './world.ts';

/** Delays and instants: when a task is queued again, and when its time is over. */
export const times: readonly ControlPlaneCase[] = [
  {
    name: 'times/first-loss-at-once',
    title: 'queues a task again at once after its first loss',
    promises: ['4.32'],
    async run(world) {
      const options = { effectSafety: 'pure', policy: { backoff: hours } } as const;
      const { task, worker, attempt } = await given(world, options);
      (await worker.report(attempt, 'lost', lost())).is(200);
      same((await worker.claimOne(task.type)).fence, 2, 'the fence of the next attempt');
    },
  },
  {
    name: 'times/backoff',
    title:
      'waits initialMs × factor^n before the next attempts, after failures, releases, second losses',
    promises: ['4.33'],
    async run(world) {
      const backoff = { initialMs: 300, factor: 2, maxMs: 600, jitter: 0 };
      const rows = [
        ['fail', failure(true), 'fail', 600],
        ['release', { reason: 'no-slot' }, 'release', 600],
        ['lost', lost(), 'lost', 600],
      ] as const;
      await Promise.all(
        rows.map(async ([op, fields, word, second]) => {
          const options = { word, effectSafety: 'pure', policy: { backoff } } as const;
          const { task, worker, attempt } = await given(world, options);
          let last = attempt;
          for (const delay of [op === 'lost' ? 0 : 300, second, 600]) {
            const told = (await worker.report(last, op, fields)).is(200);
            last = await worker.claimOne(task.type);
            const ms = Math.ceil(world.clock.now() - told.sentAtMs);
            expect(ms >= delay - 25, `Queued again after ${op} for ${ms} ms, not ${delay} ms.`);
          }
        }),
      );
    },
  },
  {
    name: 'times/retry-after',
    title: 'takes retryAfterMs as a lower bound of the delay',
    promises: ['4.34'],
    async run(world) {
      const { task, worker, attempt } = await given(world, {
        policy: { backoff: { initialMs: 10, factor: 1, maxMs: 200, jitter: 0 } },
      });
      const fields = failure(true, { retryAfterMs: 1_200 });
      const told = (await worker.report(attempt, 'fail', fields)).is(200);
      await worker.claimOne(task.type);
      const ms = Math.ceil(world.clock.now() - told.sentAtMs);
      expect(ms >= 1_175, `Queued again after ${ms} ms; retryAfterMs was 1200.`);
    },
  },
  {
    name: 'times/retry-after-is-bounded',
    title: 'takes no more of retryAfterMs than 10 × maxMs',
    promises: ['4.34'],
    async run(world) {
      const { task, worker, attempt } = await given(world, {
        policy: { backoff: { initialMs: 10, factor: 1, maxMs: 50, jitter: 0 } },
      });
      const fields = failure(true, { retryAfterMs: 3_600_000 });
      (await worker.report(attempt, 'fail', fields)).is(200);
      await worker.claimOne(task.type);
    },
  },
  {
    name: 'times/queue-timeout',
    title: 'ends a task that nobody took within queueTimeoutMs as expired, and not sooner',
    promises: ['4.37'],
    async run(world) {
      const task = await world.submit({ policy: { queueTimeoutMs: 700 } });
      const ended = await world.taskIn(task.id, ['expired']);
      same(ended.error?.code, 'QUEUE_TIMEOUT', 'the code of the error');
      await expiredNotBefore(world, task, Date.parse(task.createdAt) + 700);
    },
  },
  {
    name: 'times/queue-timeout-anew',
    title: 'counts queueTimeoutMs from notBeforeAt, and anew each time the task is queued again',
    promises: ['4.37'],
    async run(world) {
      const policy = { queueTimeoutMs: 1_500, leaseMs: LONG_LEASE_MS, backoff: soon };
      const notBeforeMs = (await world.serverNowMs()) + 1_600;
      const notBeforeAt = new Date(notBeforeMs).toISOString();
      const later = await world.submit({ type: world.type('later'), policy, notBeforeAt });
      const { task, worker, attempt } = await given(world, { policy, effectSafety: 'pure' });
      await world.pause(800);
      (await worker.report(attempt, 'fail', failure(true))).is(200);
      for (const { id } of [task, later]) await world.taskIn(id, ['expired']);
      const [failed] = await entries(world, task, 'failed');
      await expiredNotBefore(world, task, Date.parse(failed?.at ?? '') + 1_500);
      await expiredNotBefore(world, later, notBeforeMs + 1_500);
    },
  },
  {
    name: 'times/deadline-while-queued',
    title: 'ends a queued task whose deadline passed as expired, and gives no attempt of it',
    promises: ['4.39'],
    async run(world) {
      const deadlineMs = (await world.serverNowMs()) + 800;
      const policy = { deadlineAt: new Date(deadlineMs).toISOString() };
      const task = await world.submit({ policy });
      const ended = await world.taskIn(task.id, ['expired']);
      same(ended.error?.code, 'DEADLINE_PASSED', 'the code of the error');
      await expiredNotBefore(world, task, deadlineMs);
      const seen = (await world.worker().claim([task.type])).is(200);
      same(seen.body<{ attempts: unknown[] }>().attempts, [], 'the attempts of a claim after it');
    },
  },
  {
    name: 'times/deadline-left',
    title: 'asks a running attempt to stop at the deadline, then ends the task as expired',
    promises: ['4.16', '4.26', '4.20'],
    timeoutMs: 120_000,
    async run(world) {
      const rows = [
        ['cancelled', {}],
        ['lost', lost()],
        ['fail', failure(true)],
      ] as const;
      await Promise.all(
        rows.map(async ([op, fields]) => {
          const { worker, task, attempt } = await pastDeadline(world, { word: op });
          accepted(await worker.report(attempt, op, fields), attempt, op);
          const ended = await isNow(world, task, 'expired');
          same(ended.error?.code, 'DEADLINE_PASSED', `the code of the error after ${op}`);
        }),
      );
    },
  },
  {
    name: 'times/deadline-right',
    title: 'ends a task past its gate as outcome-unknown at the deadline where no outcome came',
    promises: ['4.17', '4.8'],
    timeoutMs: 120_000,
    async run(world) {
      const rows = [
        ['cancelled', {}, 'outcome-unknown'],
        ['lost', lost(), 'outcome-unknown'],
        ['complete', { result: 1 }, 'succeeded'],
      ] as const;
      await Promise.all(
        rows.map(async ([op, fields, status]) => {
          const options = { word: op, passed: 'start' } as const;
          const { worker, task, attempt } = await pastDeadline(world, options);
          accepted(await worker.report(attempt, op, fields), attempt, op);
          await isNow(world, task, status);
        }),
      );
    },
  },
];

const hours = { initialMs: 7_200_000, factor: 1, maxMs: 7_200_000, jitter: 0 };

/**
 * A running attempt whose task's deadline passed: an answer to its reports has said so. Where the way to the peer is too
 * slow for the deadline, a later turn has more time.
 */
function pastDeadline(world: ControlPlaneWorld, options: PastDeadline): Promise<Given> {
  return steady(async (turn) => {
    const { passed, word } = options;
    const forMs = DEADLINE_MS * 2 ** (turn - 1);
    const sinceMs = world.clock.now();
    const inTime = <T>(got: T) => {
      const ms = world.clock.now() - sinceMs;
      return ms < forMs ? got : tooSlow(ms, `what a deadline after ${forMs} ms is for`);
    };
    // The peer's instant is later than `sinceMs`: what is in time here is in time there.
    const deadlineAt = new Date((await world.serverNowMs()) + forMs).toISOString();
    const type = world.type(`${word}-${turn}`);
    const policy = { leaseMs: LONG_LEASE_MS, backoff: soon, deadlineAt };
    const task = inTime(await world.submit({ type, policy }));
    const worker = world.worker();
    const attempt = await world.until('an attempt', async () => {
      const seen = inTime(await worker.claim([type])).is(200);
      return seen.body<{ attempts: AttemptOffer[] }>().attempts[0];
    });
    if (passed) inTime(await worker.report(attempt, passed)).is(200);
    const toldByMs = forMs + TOLD_MS;
    const told = async () => {
      const { cancelRequested } = accepted(await worker.report(attempt, 'renew'), attempt, 'renew');
      oneOf(cancelRequested ?? false, [true, false], '`cancelRequested`');
      return cancelRequested || undefined;
    };
    await world.until('`cancelRequested` at the deadline', told, toldByMs);
    return { task, worker, attempt };
  });
}

interface PastDeadline {
  readonly word: string;
  readonly passed?: 'start';
}

/** Four answers have to come within it; each further turn doubles it. */
const DEADLINE_MS = 2_000;
/** For what a sound peer says with the next answer; long enough for a busy one. */
const TOLD_MS = 20_000;

/** By the instants of its journal, which are all of one clock. */
async function expiredNotBefore(
  world: ControlPlaneWorld,
  task: { readonly id: string },
  ms: number,
): Promise<void> {
  const [entry] = await entries(world, task, 'expired');
  const early = ms - Date.parse(entry?.at ?? '');
  expect(early <= 0, `The task was ended as expired ${early} ms too early.`);
}
