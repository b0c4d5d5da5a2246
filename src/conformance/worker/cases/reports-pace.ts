/** reports/…: when a report that could not be taken now is sent again. */
import type { Fcp, TaskHandle } from '../../../fcp/fcp.ts';
import { expect, same } from '../../check.ts';
import type { WorkerCase } from '../worker-case.ts';
import { comeAgain } from './come-again.ts';
import { about, came, completed, echo } from './steps.ts';

/** A timer may fire this much early, and the answer is noted a moment before it arrives. */
const EARLY_MS = 100;
/** What a date in whole seconds may round off. */
const SECOND_MS = 1_000;

/** `429` with this header to the first report of the task. */
function busy(fcp: Fcp, task: TaskHandle, retryAfter: string): void {
  fcp.on(
    about(task, 'complete'),
    (_, ctl) => ctl.problem(429, 'RATE_LIMITED', { 'retry-after': retryAfter }),
    { times: 1 },
  );
}

/** From the answer to the first report to the second. */
async function gapMs(fcp: Fcp, task: TaskHandle): Promise<number> {
  const [first, second] = await came(fcp, task, 'complete', 2);
  return (second?.t ?? 0) - (first?.request.answered?.t ?? Number.POSITIVE_INFINITY);
}

export const pace: readonly WorkerCase[] = [
  {
    name: 'reports/busy',
    title: 'keeps what is answered 408, 425, 429 or 5xx, and sends it again',
    promises: ['5.33'],
    handlers: ['conformance/echo'],
    run: (world) =>
      comeAgain(world, {
        '408': (_, ctl) => ctl.problem(408, 'UNAVAILABLE'),
        '425': (_, ctl) => ctl.problem(425, 'UNAVAILABLE'),
        '429': (_, ctl) => ctl.problem(429, 'RATE_LIMITED'),
        '500': (_, ctl) => ctl.problem(500, 'INTERNAL'),
        '503': (_, ctl) => ctl.problem(503, 'UNAVAILABLE'),
      }),
  },
  {
    name: 'reports/retry-after-seconds',
    title: 'waits as long as `Retry-After` says in seconds, and holds up no other report',
    promises: ['5.36', '5.37', '5.33'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: 30_000 });
      const task = fcp.offer(echo('first'));
      const other = fcp.offer(echo({ text: 'other', ms: 1_500 }));
      busy(fcp, task, '6');
      await world.worker();
      const gap = await gapMs(fcp, task);
      expect(
        gap >= 6_000 - EARLY_MS,
        `The result came again ${Math.round(gap)} ms after an answer with Retry-After: 6; 6000 ms are due.`,
      );
      const again = task.reports('complete')[1];
      const [first] = other.reports('complete');
      expect(
        first && again && first.t < again.t - 1_000,
        'The result of another task came no sooner than the one that was told to wait: Retry-After holds for that one alone.',
      );
      await completed(task);
    },
  },
  {
    name: 'reports/retry-after-date',
    title: 'waits as long as `Retry-After` says with a date',
    promises: ['5.36'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(echo('later'));
      fcp.on(
        about(task, 'complete'),
        (_, ctl) => {
          const date = new Date(world.clock.wall() + 5_000).toUTCString();
          return ctl.problem(503, 'UNAVAILABLE', { 'retry-after': date });
        },
        { times: 1 },
      );
      await world.worker();
      const gap = await gapMs(fcp, task);
      const least = 5_000 - SECOND_MS - EARLY_MS;
      expect(
        gap >= least,
        `The result came again ${Math.round(gap)} ms after an answer whose Retry-After was a date 5 s ahead; ${least} ms are due at least.`,
      );
      await completed(task);
    },
  },
  {
    name: 'reports/retry-after-junk',
    title: 'takes no notice of a `Retry-After` that is none',
    promises: ['5.36'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const junk = ['soon', '-5', '1e9', 'Thu, 99 Foo 2099 25:61:61 GMT', '0'];
      const tasks = junk.map((header) => {
        const task = fcp.offer(echo(header));
        busy(fcp, task, header);
        return task;
      });
      await world.worker({ slots: 3 });
      for (const task of tasks) {
        await came(fcp, task, 'complete', 2);
        await completed(task);
      }
    },
  },
  {
    name: 'reports/retry-after-huge',
    title: 'takes a `Retry-After` of centuries for a long wait, not for none',
    promises: ['5.36', '5.33'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const huge = ['99999999999', 'Fri, 31 Dec 9999 23:59:59 GMT'];
      const tasks = huge.map((header) => {
        const task = fcp.offer(echo(header));
        busy(fcp, task, header);
        return task;
      });
      const other = fcp.offer(echo('other'));
      await world.worker({ slots: 3 });
      await other.ended();
      for (const task of tasks) await came(fcp, task, 'complete');
      await world.pause(6_000);
      for (const task of tasks)
        same(
          task.reports('complete').length,
          1,
          'how often the result came within 6 s of a Retry-After of centuries',
        );
    },
  },
  {
    name: 'reports/renews-while-waiting',
    title: 'renews the lease of a report that has to wait, until it is answered',
    promises: ['5.12', '5.13', '5.36'],
    handlers: ['conformance/echo', 'conformance/sleep'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: 5_000 });
      const task = fcp.offer(echo('waits'));
      const running = fcp.offer({ type: 'conformance/sleep', input: { ms: 9_000 } });
      busy(fcp, task, '9');
      await world.worker();
      await came(fcp, task, 'complete', 2);
      await completed(task);
      await completed(running);
      for (const one of [task, running])
        expect(
          one.lapsedMs() === 0,
          `A lease of 5 s had run out for ${Math.round(one.lapsedMs())} ms: a report that waits is renewed as well.`,
        );
    },
  },
  {
    name: 'reports/renewals-told-to-wait',
    title: 'keeps renewing at its own pace whatever `Retry-After` renewals are answered with',
    promises: ['5.13'],
    handlers: ['conformance/sleep'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: 5_000 });
      const task = fcp.offer({ type: 'conformance/sleep', input: { ms: 9_000 } });
      const renews = about(task, 'renew');
      fcp.on(renews, (_, ctl) => ctl.problem(429, 'RATE_LIMITED', { 'retry-after': '60' }), {
        times: 1,
      });
      await world.worker();
      await came(fcp, task, 'renew', 2, { timeoutMs: 9_000 });
      await completed(task);
    },
  },
];
