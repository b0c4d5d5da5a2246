/** Clocks that are set and machines that slept, while work goes on: what is due keeps coming due, and no lease is trusted too long. */
import { writeFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { workerDefaults } from '../../src/core/defaults.ts';
import { carrying, startFcp } from '../../src/fcp/fcp.ts';
import { type Proc, until } from '../e2e/processes.ts';
import { World } from '../e2e/world.ts';
import { HANDLERS, linesOf } from './ledger.ts';
import { missing } from './needs.ts';
import { rounds } from './rounds.ts';
import { WallClock } from './wall-clock.ts';

const lack = missing('gcc');
vi.setConfig({ testTimeout: rounds(180_000, 900_000) });
const HOUR = 3_600_000;
/** Two busy cores: what anything may come late. */
const LATE_MS = 1_200;
const LEASE_MS = 3_000;
const SLEPT_LEASE_MS = 60_000;
/** A worker looks at its clock once a second, and the machine may be busy. */
const NOTICED_MS = 8_000;

/** When the last line of its log was written, by its own clock. */
function loggedAt(worker: Proc): number {
  const [line = '{}'] = worker.err
    .split('\n')
    .filter((one) => one.endsWith('}'))
    .slice(-1);
  return Date.parse((JSON.parse(line) as { time: string }).time);
}

const gaps = (times: readonly number[]) => times.slice(1).map((at, i) => at - (times[i] ?? 0));
const longest = (times: readonly number[]) => Math.max(...gaps(times));

describe.concurrent('clocks', () => {
  describe.skipIf(lack)('F06: the wall clock is set back and forth', () => {
    it('renewals, polls, hellos and retries of a worker keep their cadence', async () => {
      using clock = new WallClock();
      await using world = new World();
      const fcp = await startFcp({ leaseMs: LEASE_MS, refuseHints: 503, presentAfterMs: 15_000 });
      try {
        const worker = await world.worker({ url: fcp.url, max: 3, env: clock.env });
        const began = world.path('began');
        const file = world.path('until');
        const long = fcp.offer({
          type: 'test/wait',
          effectSafety: 'pure',
          input: { began, until: file },
        });
        const spooled = fcp.offer({ type: 'test/echo', effectSafety: 'pure', input: 'spooled' });
        const refused = fcp.on(
          (request) =>
            carrying('complete')(request) &&
            request.reports.some(({ attemptId }) => attemptId === spooled.attempts[0]?.attemptId),
          (_, ctl) => ctl.problem(503, 'UNAVAILABLE'),
        );
        await fcp.until(() => refused.seen.length >= 2, { timeoutMs: 20_000 });
        for (const ahead of [-HOUR, HOUR, ...Array(rounds(0, 8)).fill([-HOUR, HOUR]).flat()]) {
          clock.setAhead(ahead);
          await pause(6_500);
          // It does see the clock that way.
          fcp.offer({ type: 'test/echo', effectSafety: 'pure' });
          const sees = () => Math.round((loggedAt(worker) - Date.now()) / HOUR) === ahead / HOUR;
          await until(sees, `log line of ${ahead} ms ahead`);
        }
        const renewals = fcp.reports.filter(
          ({ op, attemptId }) => op === 'renew' && attemptId === long.attempts[0]?.attemptId,
        );
        const renewed = longest(renewals.map(({ request }) => request.t));
        expect(renewed).toBeLessThan((LEASE_MS / 3) * 1.1 + LATE_MS);
        const polls = longest(fcp.requests('claim').map(({ t }) => t));
        expect(polls).toBeLessThan(workerDefaults.pollMaxWithoutHintsMs + LATE_MS);
        expect(longest(fcp.requests('present').map(({ t }) => t))).toBeLessThan(
          15_000 * 1.1 + LATE_MS,
        );
        const { initialMs, jitter, maxMs } = workerDefaults.retry;
        const retries = gaps(refused.seen.map(({ t }) => t));
        for (const [i, gap] of retries.entries()) {
          const planned = Math.min(initialMs * 2 ** i, maxMs);
          expect(gap, `retry ${i + 1}`).toBeGreaterThan(planned * (1 - jitter) - 50);
          expect(gap, `retry ${i + 1}`).toBeLessThan(planned * (1 + jitter) + LATE_MS);
        }
        console.log(
          `F06: longest gaps: renewals ${Math.round(renewed)} ms, polls ${Math.round(polls)} ms; retries of a report after ${retries.map((gap) => `${Math.round(gap)}`).join(', ')} ms`,
        );
        refused.off();
        await spooled.accepted('complete', { timeoutMs: 60_000 });
        writeFileSync(file, '');
        await long.accepted('complete', { timeoutMs: 20_000 });
        for (const task of [long, spooled]) {
          expect(task.lapsedMs()).toBe(0);
          expect(task.attempts.length).toBe(1);
        }
        worker.kill('SIGTERM');
        expect(await worker.ending()).toMatchObject({ code: 0 });
        expect(fcp.violations).toEqual([]);
      } finally {
        await fcp.stop();
      }
    });

    it('a control plane ends no lease for it and still ends one that is over', async () => {
      using clock = new WallClock();
      await using world = new World({ planeEnv: clock.env });
      await world.controlPlane('task-producer', 'task-worker');
      const policy = { leaseMs: LEASE_MS, backoff: { initialMs: 500 } };
      const first = await world.worker({ id: 'first' });
      const input = (name: string) => ({
        began: world.path(`${name}-began`),
        until: world.path(`${name}-until`),
      });
      const kept = await world.producer.submit('test/wait', 1, input('kept'), { policy });
      await world.entry(kept.id, 'started');
      for (const ahead of [-HOUR, HOUR]) {
        clock.setAhead(ahead);
        await pause(2 * LEASE_MS);
      }
      writeFileSync(input('kept').until, '');
      const done = await world.producer.await(kept, { timeoutMs: 20_000 });
      expect(done).toMatchObject({ status: 'succeeded', attempts: 1 });

      const moved = await world.producer.submit('test/wait', 1, input('moved'), { policy });
      await world.entry(moved.id, 'started');
      clock.setAhead(-HOUR);
      const from = performance.now();
      await first.crash();
      await world.worker({ id: 'second' });
      writeFileSync(input('moved').until, '');
      const repeated = await world.producer.await(moved, { timeoutMs: 30_000 });
      expect(repeated).toMatchObject({ status: 'succeeded', attempts: 2 });
      console.log(
        `F06: a dead worker's task was done by another ${Math.round(performance.now() - from)} ms after its crash`,
      );

      // Started anew under a clock that lies an hour before the one that its rows were written by: what waits for its next
      // try does not wait an hour for it.
      const tried = await world.producer.submit(
        'test/exits',
        1,
        { code: 3 },
        {
          policy: { leaseMs: LEASE_MS, maxAttempts: 3, backoff: { initialMs: 2_000, factor: 2 } },
        },
      );
      const losses = async () =>
        (await world.journal(tried.id)).filter(({ kind }) => kind === 'lost');
      // The first loss is queued again at once, the second waits.
      await until(async () => (await losses()).length === 2, 'second loss', 60_000);
      clock.setAhead(-2 * HOUR);
      await world.plane.crash();
      await world.controlPlane();
      const after = await world.producer.submit('test/echo', 1, 'after', { policy });
      expect(await world.producer.await(after, { timeoutMs: 30_000 })).toMatchObject({
        status: 'succeeded',
      });
      expect(await world.producer.await(tried, { timeoutMs: 60_000 })).toMatchObject({
        status: 'failed',
        attempts: 3,
      });
    });
  });

  /** A machine that slept, as a worker sees it: its uptime runs ahead of the clock that its timers go by. */
  it.skipIf(missing('root', 'unshare'))(
    'a worker that wakes renews at once after a short sleep, and after a long one stops what another may run',
    async () => {
      await using world = new World();
      // A call on its way when the machine falls asleep has run out of time when it wakes, though it was answered.
      const fcp = await startFcp({
        leaseMs: SLEPT_LEASE_MS,
        refuseHints: 503,
        tolerate: ['second-start'],
      });
      let clockwork: NodeJS.Timeout | undefined;
      try {
        // Only the processes under it see this uptime; it goes on like the real one, so far ahead of it.
        const file = world.path('uptime');
        let slept = 0;
        const tell = () => `${(uptime() + slept).toFixed(2)} 0.00`.padEnd(40);
        writeFileSync(file, tell());
        // Written over, never cut: whoever reads it finds a number.
        clockwork = setInterval(() => writeFileSync(file, tell(), { flag: 'r+' }), 20);
        const sleep = (seconds: number) => {
          slept += seconds;
        };
        const script = `mount --bind ${file} /proc/uptime && exec "$@"`;
        const under = ['unshare', '-m', 'sh', '-c', script, 'sh'];
        const at = { handlers: HANDLERS, url: fcp.url, under, wrapper: false };
        const worker = await world.worker({ ...at, max: 3, args: ['--stop-grace', '1s'] });
        const offer = (type: string, effectSafety: 'pure' | 'idempotent' | 'non-idempotent') =>
          fcp.offer({
            type: `test/${type}`,
            effectSafety,
            ...(type === 'once-gated' ? { effectGate: 'effect' as const } : {}),
            input: { file: world.path(type), beforeMs: 15_000 },
          });
        const pure = offer('look', 'pure');
        const again = offer('again', 'idempotent');
        const gated = offer('once-gated', 'non-idempotent');
        for (const name of ['look', 'again', 'once-gated'])
          await until(() => linesOf(world, name).length > 0, `a line of ${name}`);
        const all = [pure, again, gated];
        const renewed = async (what: string) => {
          const from = performance.now();
          const fresh = () =>
            all.every((task) => task.reports('renew').some(({ request }) => request.t > from));
          await fcp.until(fresh, { what: `renewals after ${what}`, timeoutMs: NOTICED_MS });
          return Math.round(performance.now() - from);
        };

        sleep(30);
        const short = await renewed('a short sleep');
        expect(worker.events('handler.stopping')).toEqual([]);

        const from = performance.now();
        sleep(600);
        await until(() => worker.events('handler.stopping').length === 2, 'two stops', NOTICED_MS);
        console.log(
          `sleep: renewed ${short} ms after 30 s, stopped two ${Math.round(performance.now() - from)} ms after ten minutes`,
        );
        for (const task of [again, gated]) {
          const { body } = await task.accepted('lost', { timeoutMs: 20_000 });
          expect(body).toMatchObject({ reason: 'lease', begun: true });
        }
        expect(fcp.reports.filter(({ op }) => op === 'effect')).toEqual([]);
        await pure.accepted('complete', { timeoutMs: 40_000 });
        for (const task of all) expect(task.lapsedMs()).toBe(0);
        expect(fcp.violations).toEqual([]);
      } finally {
        clearInterval(clockwork);
        await fcp.stop();
      }
    },
  );
});
