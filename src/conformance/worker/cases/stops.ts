/** stops/…: how handlers are stopped, and what is reported of it. */
import type { Fcp, Report } from '../../../fcp/fcp.ts';
import { NotApplicable } from '../../case.ts';
import { expect, same } from '../../check.ts';
import { processesWith } from '../left-processes.ts';
import type { WorkerCase } from '../worker-case.ts';
import type { World } from '../world.ts';
import { endWords, runsOn, spin, stubborn } from './attempt-steps.ts';
import { echo, effect, sleep } from './steps.ts';

/** Cancels are told in answers to renewals. */
const LEASE_MS = 6_000;
/** What is left after a signal to processes that end by themselves. */
const GONE_MS = 5_000;
const LOOK_MS = 100;

export const stops: readonly WorkerCase[] = [
  {
    name: 'stops/cancel',
    title: 'stops a handler whose cancel an answer tells, and reports `cancelled`',
    promises: ['5.18'],
    handlers: ['conformance/echo', 'conformance/sleep', 'conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: LEASE_MS, refuseHints: 503 });
      const tasks = [fcp.offer(sleep(60_000)), fcp.offer(effect('begun', 60_000))];
      await world.worker({ slots: 2 });
      for (const task of tasks) await task.accepted('start');
      await world.done(1);
      for (const task of tasks) fcp.cancel(task.taskId);
      for (const task of tasks)
        same(endWords(await task.ended()), 'cancelled', `the end of ${task.task.offer.type}`);
      await runsOn(fcp, echo());
    },
  },
  {
    name: 'stops/kill',
    title: 'kills a handler that hears no stop when its grace is over, and reports it as lost',
    promises: ['5.16', '5.20'],
    handlers: ['conformance/echo', 'conformance/stubborn'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: LEASE_MS });
      await world.worker({ slots: 1, stopGrace: 2 });
      const { end, cancelled } = await stoppedWhenDeaf(world, fcp);
      same(endWords(end), 'lost cancel killed', 'the end of the task');
      same(end.body.begun, true, '`begun` of it');
      const ms = Math.round(end.t - cancelled);
      expect(ms >= 2_000, `It was killed after ${ms} ms; its grace is 2 s.`);
      await runsOn(fcp, echo());
    },
  },
  {
    name: 'stops/last-word',
    title: 'reports what a handler says itself after the signal as it is',
    promises: ['5.17'],
    handlers: ['conformance/stubborn'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: LEASE_MS });
      const tasks = [
        fcp.offer(stubborn(6_000)),
        fcp.offer(stubborn(3_000, { policy: { attemptTimeoutMs: 1_500 } })),
      ];
      await world.worker({ slots: 2, stopGrace: 15 });
      const [cancelled] = tasks;
      await cancelled?.accepted('start');
      await world.pause(1_500);
      fcp.cancel(cancelled?.taskId ?? '');
      for (const task of tasks) {
        const { op, body } = await task.ended();
        const slept = (task.task.offer.input as { ms: number }).ms;
        same([op, body.result], ['complete', { slept }], 'the end of a handler that returned');
      }
    },
  },
  {
    name: 'stops/timeout',
    title:
      'ends a handler after `attemptTimeoutMs`, counted from its start, and reports it as lost',
    promises: ['4.40', '5.19', '5.20'],
    handlers: ['conformance/sleep', 'conformance/stubborn'],
    async run(world) {
      const fcp = await world.controlPlane();
      const policy = { attemptTimeoutMs: 2_000 };
      const obeys = fcp.offer(sleep(60_000, { policy }));
      const deaf = fcp.offer(stubborn(60_000, { policy }));
      const quick = fcp.offer(sleep(500, { policy }));
      await world.worker({ slots: 3 });
      const end = await obeys.ended();
      same(endWords(end), 'lost timeout', 'the end of a handler that obeys');
      same(endWords(await deaf.ended()), 'lost timeout killed', 'the end of one that does not');
      same((await quick.ended()).op, 'complete', 'the end of one that is in time');
      const ms = Math.round(end.t - (obeys.latest?.grantedAt ?? 0));
      expect(ms >= 2_000, `A handler was stopped ${ms} ms after its claim; it has 2 s.`);
    },
  },
  {
    name: 'stops/nothing-left',
    title: 'leaves no process behind when it has ended',
    promises: ['5.16', '5.24'],
    handlers: ['conformance/stubborn', 'conformance/spin'],
    async run(world) {
      const { mark, env } = marks(world);
      const fcp = await world.controlPlane({ leaseMs: LEASE_MS });
      const tasks = [fcp.offer(stubborn(60_000)), fcp.offer(spin(60_000))];
      const worker = await world.worker({ drainTimeout: 4, env });
      for (const task of tasks) await task.accepted('start');
      await visible(mark);
      worker.signal('SIGTERM');
      await world.ending(worker, 20_000);
      const until = fcp.now + GONE_MS;
      let left = await processesWith(mark);
      while (left.length > 0 && fcp.now < until) {
        await world.pause(LOOK_MS);
        left = await processesWith(mark);
      }
      // Nobody else ends them.
      for (const pid of left) process.kill(pid, 'SIGKILL');
      expect(left.length === 0, `${left.length} processes were still there when it had ended.`);
    },
  },
  {
    name: 'stops/old-handlers',
    title: 'has ended the handlers of a worker that was killed before it claims anything',
    promises: ['5.8'],
    handlers: ['conformance/stubborn', 'conformance/spin'],
    async run(world) {
      const { mark, env } = marks(world);
      const fcp = await world.controlPlane();
      const tasks = [fcp.offer(spin(60_000)), fcp.offer(stubborn(60_000))];
      const worker = await world.worker({ env });
      for (const task of tasks) await task.accepted('start');
      // Into the middle of what they do.
      await world.pause(1_000);
      await visible(mark);
      await worker.kill();
      let seen: Promise<number[]> | undefined;
      fcp.on('claim', async (_, ctl) => {
        seen ??= processesWith(mark);
        await seen;
        await ctl.pass();
      });
      await world.worker({ env: { [MARK]: 'the next one' } });
      const left = await fcp.until(() => seen && { pids: seen }, {
        what: 'a claim (POST /claims)',
      });
      const pids = await left.pids;
      for (const pid of pids) process.kill(pid, 'SIGKILL');
      expect(
        pids.length === 0,
        `${pids.length} handlers of the killed worker ran on when the next one claimed.`,
      );
      for (const task of tasks)
        same(endWords(await task.ended()), 'lost worker-restarted', 'the end of a task');
    },
  },
];

/** In the environment of a worker, and so of its handlers. */
const MARK = 'INTERLOCK_CONFORMANCE_MARK';

function marks(world: World): { mark: string; env: Record<string, string> } {
  const value = `${process.pid}-${Math.round(world.clock.now() * 1_000)}`;
  return { mark: `${MARK}=${value}`, env: { [MARK]: value } };
}

async function visible(mark: string): Promise<void> {
  // The worker itself has it too.
  if ((await processesWith(mark)).length > 1) return;
  throw new NotApplicable('its handlers cannot be told by their environment here');
}

/** From the start to the deaf ear it takes a moment, on a busy machine a long one: whoever still heard the stop is tried again. */
async function stoppedWhenDeaf(
  world: World,
  fcp: Fcp,
  waits = [1_500, 5_000, 15_000],
): Promise<{ end: Report; cancelled: number }> {
  const task = fcp.offer(stubborn(60_000));
  await task.accepted('start');
  await world.pause(waits[0] as number);
  fcp.cancel(task.taskId);
  const cancelled = fcp.now;
  const end = await task.ended();
  const heard = end.op === 'cancelled' || (end.op === 'lost' && end.body.killed !== true);
  return heard && waits.length > 1
    ? stoppedWhenDeaf(world, fcp, waits.slice(1))
    : { end, cancelled };
}
