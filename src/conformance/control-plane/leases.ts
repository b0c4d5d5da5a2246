import { expect, same } from '../check.ts';
import { limitsOf } from './faults.ts';
import type { ControlPlaneCase } from './index.ts';
import {
  accepted,
  entries,
  type Given,
  given,
  inTime,
  isNow,
  LONG_LEASE_MS,
  oneLine,
  silent,
  steady,
  takenNotBefore,
  tooSlow,
} from './steps.ts';
import type { EffectGate, EffectSafety } from './wire-shapes.ts';

/** How long a lease is, what prolongs it, and what follows when it is over. */
export const leases: readonly ControlPlaneCase[] = [
  {
    name: 'leases/length',
    title: 'grants the smaller of the claim’s and the policy’s lease, within its limits',
    promises: ['2.21'],
    async run(world) {
      const { min, max } = (await limitsOf(world)).leaseMs;
      const rows = [
        [min + 2_000, min + 1_000, min + 1_000],
        [min + 1_000, min + 2_000, min + 1_000],
        [min + 1_000, undefined, min + 1_000],
        [min + 1_000, 1, min],
        [1, min + 1_000, min],
        [max + 60_000, max + 60_000, max],
      ] as const;
      for (const [i, [policy, claim, expected]] of rows.entries()) {
        const options = { word: `row-${i}`, policy: { leaseMs: policy } };
        const lease = claim === undefined ? {} : { leaseMs: claim };
        const { attempt } = await given(world, { ...options, ...lease });
        const what = `the lease of policy ${policy} and claim ${claim ?? 'none'}`;
        same(attempt.leaseMs, expected, what);
      }
    },
  },
  ...Object.entries({
    pure: { effectSafety: 'pure', passed: 'start' },
    idempotent: { effectSafety: 'idempotent', passed: 'effect' },
    'before-start': { effectSafety: 'non-idempotent' },
    'before-effect': { effectSafety: 'non-idempotent', effectGate: 'effect', passed: 'start' },
  } as const).map(
    ([name, options]): ControlPlaneCase => ({
      name: `leases/over-${name}`,
      title: `queues a task again whose lease ran out (${name.replace('-', ' ')}), and not sooner`,
      promises: ['4.14', '1.6', '1.3'],
      async run(world) {
        const { task, attempt, dueMs } = await steady(async (turn) => {
          const sinceMs = world.clock.now();
          const more = { leaseMs: world.leaseMinMs, word: `turn-${turn}` };
          const { task, worker, attempt } = await given(world, { ...options, ...more });
          // The lease that ends this late is the one that the last accepted report gave.
          const renewed = inTime(await worker.report(attempt, 'renew'), sinceMs, attempt.leaseMs);
          accepted(renewed, attempt, 'renew');
          return { task, attempt, dueMs: renewed.sentAtMs + attempt.leaseMs };
        });
        const next = await takenNotBefore(world, task.type, dueMs, { leaseMs: LONG_LEASE_MS });
        same(next.fence, attempt.fence + 1, 'the fence of the next attempt');
        // One before it was lost too where this machine was slow.
        const end = (await entries(world, task, 'lost')).at(-1);
        same(end?.attemptId, attempt.attemptId, 'the attempt of the last `lost` entry');
      },
    }),
  ),
  ...(['renew', 'start', 'progress', 'log', 'claim'] as const).map(
    (op): ControlPlaneCase => ({
      name: `leases/prolonged-by-${op}`,
      title: `gives a whole lease again with every accepted ${op === 'claim' ? 'repetition of the claim' : op}`,
      promises: [op === 'claim' ? '2.12' : '6.32'],
      async run(world) {
        const { task, dueMs } = await steady(async (turn) => {
          const sinceMs = world.clock.now();
          const options = {
            requestId: world.id('req'),
            effectSafety: 'pure',
            leaseMs: world.leaseMinMs,
          } as const;
          const { task, worker, attempt } = await given(world, {
            ...options,
            word: `turn-${turn}`,
          });
          await world.pause(attempt.leaseMs * 0.5);
          const seen =
            op === 'claim'
              ? await worker.claim([task.type], options)
              : await worker.report(attempt, op, { n: 1, lines: oneLine });
          if (op === 'claim') {
            const none = seen.is(200).body<{ attempts: unknown[] }>().attempts.length === 0;
            inTime(seen, sinceMs, attempt.leaseMs, none);
            expect(!none, 'The repeated claim did not get its attempt again.');
          } else {
            const body = accepted(inTime(seen, sinceMs, attempt.leaseMs), attempt, op);
            same(body.leaseMs, attempt.leaseMs, `\`leaseMs\` of the answer to ${op}`);
          }
          return { task, dueMs: seen.is(200).sentAtMs + attempt.leaseMs };
        });
        await takenNotBefore(world, task.type, dueMs, { leaseMs: LONG_LEASE_MS });
      },
    }),
  ),
  {
    name: 'leases/not-prolonged-by-a-refused-report',
    title: 'prolongs no lease by a report that it refuses',
    promises: ['1.9'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { leaseMs: world.leaseMinMs });
      const other = world.worker();
      const fence = attempt.fence + 1;
      await world.until(
        'the end of a lease for which only stale renewals came',
        async () => {
          (await worker.report(attempt, 'renew', { fence })).refuses(409, 'STALE_ATTEMPT');
          const seen = await other.claim([task.type], { leaseMs: LONG_LEASE_MS });
          return seen.is(200).body<{ attempts: object[] }>().attempts[0];
        },
        attempt.leaseMs + 20_000,
      );
    },
  },
  {
    name: 'leases/grace-past-the-gate',
    title: 'waits lostGraceMs for the word of an attempt past its gate, says so, then ends it',
    promises: ['1.23', '4.15', '8.5'],
    async run(world) {
      await graceful(world, { status: 'outcome-unknown', code: 'OUTCOME_UNKNOWN' });
    },
  },
  {
    name: 'leases/grace-of-the-last-attempt',
    title: 'waits lostGraceMs for the word of the last permitted attempt, then ends it as failed',
    promises: ['1.23', '4.14', '8.5'],
    async run(world) {
      await graceful(world, {
        status: 'failed',
        code: 'ATTEMPTS_EXHAUSTED',
        safety: 'idempotent',
        maxAttempts: 1,
      });
    },
  },
  {
    name: 'leases/no-grace-when-cancelled',
    title: 'waits for nobody once a cancel is requested and the effect has not begun',
    promises: ['1.23', '4.21'],
    async run(world) {
      const { task } = await given(world, {
        effectSafety: 'idempotent',
        passed: 'start',
        leaseMs: world.leaseMinMs,
        policy: { maxAttempts: 1, lostGraceMs: 3_600_000 },
      });
      (await world.cancel(task.id)).is(200);
      await world.taskIn(task.id, ['cancelled'], 2 * world.leaseMinMs + 20_000);
    },
  },
  {
    name: 'leases/expired-still-reports',
    title: 'takes the reports of an attempt whose lease ran out, and renews by them',
    promises: ['1.22', '4.8'],
    async run(world) {
      const { task, worker, attempt } = await given(world, {
        passed: 'start',
        leaseMs: world.leaseMinMs,
        policy: { lostGraceMs: 3_600_000 },
      });
      await silent(world, task);
      const said = accepted(
        await worker.report(attempt, 'progress', { n: 1 }),
        attempt,
        'progress',
      );
      same(said.leaseMs, attempt.leaseMs, '`leaseMs` of the answer');
      await silent(world, task);
      accepted(await worker.report(attempt, 'complete', { result: 1 }), attempt, 'complete');
      await isNow(world, task, 'succeeded');
    },
  },
  {
    name: 'leases/gate-on-an-expired-one',
    title: 'opens no gate on a lease that ran out before it was renewed',
    promises: ['1.29', '1.22'],
    async run(world) {
      const { task, worker, attempt } = await given(world, {
        effectGate: 'effect',
        passed: 'start',
        leaseMs: world.leaseMinMs,
        policy: { maxAttempts: 1, lostGraceMs: 3_600_000 },
      });
      await silent(world, task);
      (await worker.report(attempt, 'effect')).refuses(409, 'LEASE_EXPIRED');
      same((await entries(world, task, 'effect-begun')).length, 0, 'the `effect-begun` entries');
      accepted(await worker.report(attempt, 'renew'), attempt, 'renew');
      accepted(await worker.report(attempt, 'effect'), attempt, 'effect');
    },
  },
  {
    name: 'leases/batch-of-renewals',
    title: 'renews every attempt of a batch',
    promises: ['6.32', '6.34'],
    async run(world) {
      await steady(async (turn) => {
        const worker = world.worker();
        const leaseMs = world.leaseMinMs;
        const held: Given[] = [];
        let sinceMs = world.clock.now();
        for (const word of ['a', 'b', 'c'])
          held.push(await given(world, { worker, word: `${word}-${turn}`, leaseMs }));
        const items = held.map(({ attempt }) => worker.item(attempt, 'renew'));
        const untilMs = world.clock.now() + 2.5 * leaseMs;
        while (world.clock.now() < untilMs) {
          const seen = (await worker.batch(items)).is(200);
          const { results } = seen.body<{ results: { status: number }[] }>();
          const refused = results.some(({ status }) => status === 409);
          inTime(seen, sinceMs, leaseMs, refused);
          sinceMs = seen.sentAtMs;
          same(
            results.map(({ status }) => status),
            [200, 200, 200],
            'the statuses of the renewals',
          );
          await world.pause(leaseMs / 4);
        }
        for (const { task } of held) {
          const { length } = await entries(world, task, 'lost');
          const ms = world.clock.now() - sinceMs;
          if (length > 0 && ms >= leaseMs) tooSlow(ms, `what a lease of ${leaseMs} ms is for`);
          same(length, 0, 'the `lost` entries');
        }
      });
    },
  },
];

/** Lets the lease of an attempt that nobody else could run go by, and watches what becomes of it. */
async function graceful(
  world: Parameters<ControlPlaneCase['run']>[0],
  expected: {
    readonly status: string;
    readonly code: string;
    readonly safety?: EffectSafety;
    readonly gate?: EffectGate;
    readonly maxAttempts?: number;
  },
): Promise<void> {
  const { status, code, safety = 'non-idempotent', maxAttempts = 5 } = expected;
  const lostGraceMs = world.leaseMinMs;
  const sinceMs = world.clock.now();
  const { task, worker, attempt } = await given(world, {
    effectSafety: safety,
    passed: 'start',
    leaseMs: world.leaseMinMs,
    policy: { lostGraceMs, maxAttempts },
  });
  const renewed = inTime(await worker.report(attempt, 'renew'), sinceMs, attempt.leaseMs);
  accepted(renewed, attempt, 'renew');
  await silent(world, task);
  const ended = await world.taskIn(task.id, [status], 2 * lostGraceMs + 20_000);
  const heldMs = world.clock.now() - renewed.sentAtMs;
  const dueMs = attempt.leaseMs + lostGraceMs;
  expect(heldMs >= dueMs - 25, `It was ended after ${Math.round(heldMs)} ms, not ${dueMs}.`);
  same(ended.error?.code, code, 'the code of the error');
  expect(
    typeof ended.error?.details?.reason === 'string',
    'The error does not tell in `details.reason` what happened.',
  );
}
