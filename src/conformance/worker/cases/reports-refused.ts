/** reports/…: what is refused for good, and what follows. */
import type { Fcp, ReportHandler, TaskHandle } from '../../../fcp/fcp.ts';
import { expect, same } from '../../check.ts';
import type { WorkerCase } from '../worker-case.ts';
import type { World } from '../world.ts';
import { about, came, echo, fail, QUIET_MS, reportOf, silence, sleep } from './steps.ts';

type Refusals = Readonly<Record<string, ReportHandler>>;

/** Each task's outcome is refused; the small report that follows ends it, and the refused one never comes again. */
async function refused(world: World, op: 'complete' | 'fail', refusals: Refusals): Promise<void> {
  const fcp = await world.controlPlane();
  const tasks = Object.entries(refusals).map(([name, refusal]) => {
    const task = fcp.offer(op === 'complete' ? echo(name) : fail('NO_INK'));
    fcp.onReport(reportOf(task, op), refusal, { times: 1 });
    return task;
  });
  await world.worker({ slots: 3 });
  for (const task of tasks) followUp((await task.ended()).body.error);
  await world.pause(QUIET_MS);
  for (const task of tasks) {
    same(
      task.reports('complete').length,
      op === 'complete' ? 1 : 0,
      'how often the result was sent',
    );
    same(task.reports('fail').length, op === 'complete' ? 1 : 2, 'how often a failure was sent');
  }
}

function followUp(error: { code: string; details?: unknown } | undefined): void {
  same(error?.code, 'RESULT_REFUSED', 'the code of the failure that follows a refused report');
  const { handlerReturned } = (error?.details ?? {}) as { handlerReturned?: unknown };
  same(
    handlerReturned,
    true,
    'details.handlerReturned of the failure that follows a refused report',
  );
}

/** A task whose worker dies while it runs, so that a restarted one reports `lost`. */
async function lostOne(world: World, fcp: Fcp): Promise<TaskHandle> {
  const task = fcp.offer(sleep(60_000));
  const worker = await world.worker();
  await task.accepted('start');
  await worker.kill();
  return task;
}

export const refusals: readonly WorkerCase[] = [
  {
    name: 'reports/refused-result',
    title: 'lets a small failure follow a result that is refused with 400, 413 or 422',
    promises: ['5.28', '5.30'],
    handlers: ['conformance/echo'],
    run: (world) =>
      refused(world, 'complete', {
        '400': (_, ctl) => ctl.problem(400, 'INVALID_REQUEST'),
        '413': (_, ctl) => ctl.problem(413, 'PAYLOAD_TOO_LARGE'),
        '422': (_, ctl) => ctl.problem(422, 'FILE_MISSING'),
      }),
  },
  {
    name: 'reports/refused-by-proxy',
    title: 'takes a 413 in any shape, as proxies say it, for a refusal',
    promises: ['5.28', '5.30'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(echo('large'));
      // In a batch it refuses no report: then it comes once alone.
      fcp.on(about(task, 'complete'), (_, ctl) => ctl.html(413));
      await world.worker();
      followUp((await task.ended()).body.error);
      await silence(fcp, task, 'complete');
    },
  },
  {
    name: 'reports/refused-failure',
    title: 'lets a small failure follow a failure that is refused',
    promises: ['5.28', '5.30'],
    handlers: ['conformance/fail'],
    run: (world) => refused(world, 'fail', { '422': (_, ctl) => ctl.problem(422, 'FILE_MISSING') }),
  },
  {
    name: 'reports/refused-404',
    title: 'takes a 404 of its own project for its attempt for a refusal',
    promises: ['5.29', '5.31'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(echo('gone'));
      const gone: ReportHandler = (_, ctl) =>
        ctl.problem(404, 'NOT_FOUND', { kind: 'attempt', project: 'default' });
      for (const op of ['complete', 'fail']) fcp.onReport(reportOf(task, op), gone);
      await world.worker();
      await came(fcp, task, 'fail');
      followUp(task.reports('fail')[0]?.body.error);
      await silence(fcp, task, 'complete');
      same(
        task.reports('fail').length,
        1,
        'how often the failure that follows a refused result was sent',
      );
      await fcp.offer(echo('next')).ended();
    },
  },
  {
    name: 'reports/refused-follow-up',
    title: 'lets nothing follow a follow-up that is refused too, also after a restart',
    promises: ['5.31', '5.5'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(echo('never'));
      for (const op of ['complete', 'fail'])
        fcp.onReport(reportOf(task, op), (_, ctl) => ctl.problem(422, 'FILE_MISSING'));
      const worker = await world.worker();
      await came(fcp, task, 'fail');
      await silence(fcp, task, 'fail');
      await worker.kill();
      await world.worker();
      await world.pause(QUIET_MS);
      same(task.reports('complete').length, 1, 'how often the result was sent');
      same(task.reports('fail').length, 1, 'how often a failure was sent');
    },
  },
  {
    name: 'reports/refused-lost',
    title: 'repeats a refused `lost` once, without message and details',
    promises: ['5.31', '5.9'],
    handlers: ['conformance/sleep'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = await lostOne(world, fcp);
      fcp.onReport(reportOf(task, 'lost'), (_, ctl) => ctl.problem(422, 'INVALID_REQUEST'), {
        times: 1,
      });
      await world.worker();
      const { op, body } = await task.ended();
      same(op, 'lost', 'the report that ended the attempt');
      same(
        [body.message, body.details],
        [undefined, undefined],
        'message and details of the `lost` that repeats a refused one',
      );
      same(body.reason, 'worker-restarted', 'the reason');
      same(task.reports('lost').length, 2, 'how often `lost` was sent');
    },
  },
  {
    name: 'reports/late-lost',
    title: 'lets nothing follow a `lost` that is answered LEASE_EXPIRED',
    promises: ['5.38'],
    handlers: ['conformance/echo', 'conformance/sleep'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = await lostOne(world, fcp);
      fcp.onReport(reportOf(task, 'lost'), (_, ctl) => ctl.problem(409, 'LEASE_EXPIRED'));
      await world.worker();
      await came(fcp, task, 'lost');
      await silence(fcp, task, 'lost');
      await fcp.offer(echo('next')).ended();
    },
  },
  {
    name: 'reports/stale',
    title: 'sends nothing more for an attempt whose report was answered STALE_ATTEMPT',
    promises: ['5.26', '1.14'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const tasks = [{}, { recorded: true }].map((extra) => {
        const task = fcp.offer(echo(extra));
        fcp.onReport(reportOf(task, 'complete'), (_, ctl) => ctl.stale(extra));
        return task;
      });
      const worker = await world.worker();
      for (const task of tasks) await came(fcp, task, 'complete');
      await world.pause(QUIET_MS);
      await worker.kill();
      await world.worker();
      await fcp.offer(echo('next')).ended();
      for (const task of tasks) {
        const ends = task.reports().filter(({ op }) => op !== 'start' && op !== 'renew');
        same(
          ends.map(({ op }) => op),
          ['complete'],
          'what was reported of the attempt',
        );
      }
    },
  },
  {
    name: 'reports/conflict',
    title: 'lets `lost` follow a report that is answered with another 409',
    promises: ['5.27'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(echo('conflict'));
      fcp.onReport(reportOf(task, 'complete'), (_, ctl) => ctl.problem(409, 'CONFLICT'));
      await world.worker();
      const { op } = await task.ended();
      same(op, 'lost', 'the report that follows a result answered 409 CONFLICT');
      await silence(fcp, task, 'complete');
      same(task.reports('complete').length, 1, 'how often the result was sent');
    },
  },
  {
    name: 'reports/durable-decides',
    title: 'lets only the answer to the report decide, once it is on disk',
    promises: ['5.39'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: 5_000 });
      const task = fcp.offer(echo('decides'));
      const busy = fcp.on(about(task, 'complete'), (_, ctl) =>
        ctl.problem(503, 'UNAVAILABLE', { 'retry-after': '4' }),
      );
      await world.worker();
      await came(fcp, task, 'complete');
      const renewed = fcp.onReport(reportOf(task, 'renew'), (_, ctl) => ctl.stale());
      await came(fcp, task, 'complete', 2);
      busy.off();
      renewed.off();
      const { op } = await task.ended();
      same(op, 'complete', 'the report that ended the attempt');
      expect(renewed.seen.length > 0, 'No renewal came while its result waited to be taken.');
    },
  },
  {
    name: 'reports/one-refused',
    title: 'delivers all other reports when one of many is refused',
    promises: ['5.28', '5.33'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const away = fcp.on('reports', (_, ctl) => ctl.problem(503, 'UNAVAILABLE'));
      const tasks = [1, 2, 3, 4, 5].map((n) => fcp.offer(echo(n)));
      const [, bad] = tasks;
      if (bad)
        fcp.onReport(reportOf(bad, 'complete'), (_, ctl) => ctl.problem(422, 'FILE_MISSING'));
      await world.worker({ slots: 3 });
      for (const task of tasks.slice(0, 3)) await came(fcp, task, 'complete');
      away.off();
      for (const task of tasks) {
        const { op, body } = await task.ended();
        same(op, task === bad ? 'fail' : 'complete', 'the report that ended the attempt');
        if (task === bad) followUp(body.error);
      }
    },
  },
];
