/** leases/…: what is kept alive, how often, and what follows when it could not be. */
import { expect, same } from '../../check.ts';
import type { WorkerCase } from '../worker-case.ts';
import { endWords, kept, nothingMore, spin, stubborn } from './attempt-steps.ts';
import { about, came, echo, effect, gated, reportOf, silence, sleep } from './steps.ts';

const LEASE_MS = 6_000;
/** A worker renews at a third; half leaves room for its jitter and a busy machine. */
const LATEST = LEASE_MS / 2;
/** An outage that outlasts a lease. */
const SHORT_LEASE_MS = 4_000;
const OUTAGE_MS = 7_000;

export const leases: readonly WorkerCase[] = [
  {
    name: 'leases/a-third',
    title: 'renews at a third of the lease, from the claim until the report was answered',
    promises: ['5.12', '5.13'],
    handlers: ['conformance/sleep'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: LEASE_MS });
      const task = fcp.offer(sleep(7_000));
      await world.worker();
      await task.ended();
      const at = task.reports('renew').map(({ t }) => t);
      expect(at.length > 0, 'A handler worked for more than a lease, and no renewal came.');
      const times = [task.latest?.grantedAt ?? 0, ...at, task.reports('complete')[0]?.t ?? 0];
      for (const [i, t] of times.entries()) {
        const gap = t - (times[i - 1] ?? t);
        const says = `${Math.round(gap)} ms of a lease of ${LEASE_MS} ms went by without a renewal; a third is due.`;
        expect(gap <= LATEST, says);
      }
      expect(at.length <= 9, `${at.length} renewals came in 7 s of a lease of ${LEASE_MS} ms.`);
    },
  },
  {
    name: 'leases/busy-handlers',
    title: 'renews while handlers hold every slot and keep their cores busy',
    promises: ['5.12', '5.13'],
    handlers: ['conformance/spin'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: LEASE_MS });
      const tasks = [fcp.offer(spin(7_500)), fcp.offer(spin(7_500))];
      await world.worker({ slots: 2 });
      for (const task of tasks) await task.ended();
      kept(tasks);
    },
  },
  {
    name: 'leases/stuck-report',
    title: 'renews while a call with a report hangs: that attempt and all others',
    promises: ['5.12', '5.13'],
    handlers: ['conformance/echo', 'conformance/sleep'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: LEASE_MS });
      const [stuck, other] = [fcp.offer(echo()), fcp.offer(sleep(9_000))];
      fcp.on(about(stuck, 'complete'), (_, ctl) => ctl.never(), { times: 1 });
      await world.worker({ slots: 2 });
      await Promise.all([stuck.ended(), other.ended()]);
      kept([stuck, other]);
    },
  },
  {
    name: 'leases/stuck-renewal',
    title: 'asks again in time when a renewal gets no answer',
    promises: ['5.13'],
    handlers: ['conformance/sleep'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: 7_500 });
      const task = fcp.offer(sleep(9_000));
      fcp.on(about(task, 'renew'), (_, ctl) => ctl.never(), { times: 1 });
      await world.worker();
      await task.ended();
      kept([task]);
    },
  },
  {
    name: 'leases/no-retry-after',
    title: 'renews in time also where a renewal was answered with Retry-After',
    promises: ['5.13'],
    handlers: ['conformance/sleep'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: LEASE_MS });
      const task = fcp.offer(sleep(8_000));
      const minute = { 'retry-after': 60 };
      fcp.on(about(task, 'renew'), (_, ctl) => ctl.problem(429, 'RATE_LIMITED', minute), {
        times: 1,
      });
      await world.worker();
      await task.ended();
      kept([task]);
    },
  },
  {
    name: 'leases/before-the-gate',
    title: 'renews an attempt that waits for the answer to its start, and runs it then',
    promises: ['5.12', '4.2'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: LEASE_MS });
      const task = fcp.offer(effect('late'));
      fcp.on(about(task, 'start'), (_, ctl) => ctl.later(8_000), { times: 1 });
      await world.worker();
      await task.ended();
      kept([task]);
      same((await world.effects()).length, 1, 'how many lines handlers wrote to effects.jsonl');
    },
  },
  {
    name: 'leases/counted-from-the-send',
    title: 'counts a lease from the send of the claim, not from its answer',
    promises: ['1.36', '5.13'],
    handlers: ['conformance/sleep'],
    async run(world) {
      const leaseMs = 9_000;
      const fcp = await world.controlPlane({ leaseMs });
      const task = fcp.offer(sleep(4_000));
      // Its answer would renew too.
      fcp.onReport(reportOf(task, 'start'), (_, ctl) => ctl.problem(503, 'UNAVAILABLE'));
      const claims = fcp.on('claim', (_, ctl) => ctl.later(4_500), { times: 1 });
      await world.worker();
      const [first] = await came(fcp, task, 'renew');
      const after = (first?.t ?? 0) - (claims.seen[0]?.t ?? 0);
      expect(
        after <= leaseMs * 0.7,
        `The answer to a claim took half a lease, and the first renewal came ${Math.round(after)} ms after the claim was sent; a third of ${leaseMs} ms was over when the answer came.`,
      );
      await task.ended();
    },
  },
  {
    name: 'leases/outage-stops',
    title: 'stops handlers that another worker may now run when the lease ran out in an outage',
    promises: ['5.14', '5.19'],
    handlers: ['conformance/echo', 'conformance/gated'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: SHORT_LEASE_MS });
      const tasks = [fcp.offer(echo({ ms: 60_000 })), fcp.offer(gated('no', { beforeMs: 60_000 }))];
      await world.worker({ slots: 2 });
      for (const task of tasks) await task.accepted('start');
      await fcp.restart({ mode: 'refused', downMs: OUTAGE_MS });
      for (const task of tasks) {
        same(endWords(await task.ended()), 'lost lease', `the end of ${task.task.offer.type}`);
      }
      same((await world.effects()).length, 0, 'how many lines handlers wrote to effects.jsonl');
    },
  },
  {
    name: 'leases/outage-goes-on',
    title: 'lets pure handlers and those past their gate go on, and reports when it can',
    promises: ['5.15'],
    handlers: ['conformance/sleep', 'conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: SHORT_LEASE_MS });
      const tasks = [fcp.offer(sleep(8_000)), fcp.offer(effect('yes', 8_000))];
      await world.worker({ slots: 2 });
      for (const task of tasks) await task.accepted('start');
      await fcp.restart({ mode: 'refused', downMs: OUTAGE_MS });
      for (const task of tasks)
        same((await task.ended()).op, 'complete', `the end of ${task.task.offer.type}`);
      same((await world.effects()).length, 1, 'how many lines handlers wrote to effects.jsonl');
    },
  },
  {
    name: 'leases/stale',
    title: 'stops a handler whose renewal is told STALE_ATTEMPT, and says nothing more of it',
    promises: ['1.13', '1.14'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: SHORT_LEASE_MS });
      const [task, next] = [fcp.offer(echo({ ms: 60_000 })), fcp.offer(echo('next'))];
      fcp.onReport(reportOf(task, 'renew'), (_, ctl) => ctl.stale());
      await world.worker({ slots: 1 });
      // Its slot is free only when the handler has gone.
      await next.ended();
      await nothingMore(world, task);
    },
  },
  {
    name: 'leases/expired',
    title: 'takes LEASE_EXPIRED for a lease that ran out: stops or goes on, asks on, and reports',
    promises: ['1.28', '5.14', '5.15'],
    handlers: ['conformance/echo', 'conformance/sleep'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: SHORT_LEASE_MS });
      const [pure, repeatable] = [fcp.offer(sleep(6_000)), fcp.offer(echo({ ms: 60_000 }))];
      for (const task of [pure, repeatable])
        fcp.onReport(reportOf(task, 'renew'), (_, ctl) => ctl.leaseExpired(), { times: 1 });
      await world.worker({ slots: 2 });
      same(endWords(await repeatable.ended()), 'lost lease', 'the end of the idempotent one');
      same((await pure.ended()).op, 'complete', 'the end of the pure one');
      expect(
        pure.reports('renew').length > 1,
        'After LEASE_EXPIRED no renewal of the pure one came any more.',
      );
    },
  },
  {
    name: 'leases/lost-is-let-go',
    title: 'renews no attempt whose `lost` waits to be answered',
    promises: ['5.12'],
    handlers: ['conformance/stubborn'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: SHORT_LEASE_MS });
      const task = fcp.offer(stubborn(60_000, { policy: { attemptTimeoutMs: 500 } }));
      let refuse = true;
      fcp.onReport(reportOf(task, 'lost'), (_, ctl) =>
        refuse ? ctl.problem(503, 'UNAVAILABLE') : ctl.pass(),
      );
      await world.worker();
      await came(fcp, task, 'lost');
      // What was on its way may still come; then a lease without a renewal.
      await world.pause(1_000);
      await silence(fcp, task, 'renew', SHORT_LEASE_MS);
      refuse = false;
      await task.ended();
    },
  },
];
