/** reports/…: what is kept although it was refused, and until when. */
import type { FcpOptions } from '../../../fcp/fcp.ts';
import { expect, same } from '../../check.ts';
import type { WorkerCase } from '../worker-case.ts';
import { comeAgain } from './come-again.ts';
import { about, came, completed, echo, QUIET_MS } from './steps.ts';

/** A worker may ask this rarely while its key is refused (promise 5.48), and chance comes on top. */
const REFUSED_MS = 70_000;
const PATIENT: FcpOptions = { waitMs: REFUSED_MS };

export const kept: readonly WorkerCase[] = [
  {
    name: 'reports/key-refused',
    title: 'keeps a report while its key is refused, and delivers it when it is taken again',
    promises: ['5.32', '5.48'],
    handlers: ['conformance/echo'],
    timeoutMs: 2 * REFUSED_MS,
    async run(world) {
      const fcp = await world.controlPlane(PATIENT);
      const task = fcp.offer(echo({ ms: 1_500 }));
      await world.worker();
      await task.granted();
      fcp.keys.reject(world.key);
      await came(fcp, task, 'complete', 2);
      fcp.keys.accept(world.key);
      await completed(task);
      const next = fcp.offer(echo('next'));
      await next.ended();
    },
  },
  {
    name: 'reports/key-refused-statuses',
    title: 'keeps what is answered 403, 426 or a 404 of another project',
    promises: ['5.32', '5.48'],
    handlers: ['conformance/echo'],
    timeoutMs: 2 * REFUSED_MS,
    run: (world) =>
      comeAgain(
        world,
        {
          '403': (_, ctl) => ctl.problem(403, 'SCOPE_DENIED'),
          '426': (_, ctl) => ctl.problem(426, 'CONTRACT_UNSUPPORTED', { supported: [1, 2] }),
          '404 of another project': (_, ctl) =>
            ctl.problem(404, 'NOT_FOUND', { kind: 'attempt', project: 'another' }),
          '404 of a proxy': (_, ctl) => ctl.html(404),
        },
        PATIENT,
      ),
  },
  {
    name: 'reports/key-refused-claims',
    title: 'claims nothing while a report is refused for its key, and goes on afterwards',
    promises: ['5.32'],
    handlers: ['conformance/echo'],
    timeoutMs: 2 * REFUSED_MS,
    async run(world) {
      const fcp = await world.controlPlane(PATIENT);
      const task = fcp.offer(echo('kept'));
      const rule = fcp.on(about(task, 'complete'), (_, ctl) =>
        ctl.problem(404, 'NOT_FOUND', { kind: 'attempt', project: 'another' }),
      );
      await world.worker();
      await came(fcp, task, 'complete');
      // A claim that crossed the answer is no fault.
      await world.pause(QUIET_MS);
      const next = fcp.offer(echo('next'));
      await world.pause(4_000);
      expect(
        next.queued,
        'It claimed another task while its result was answered 404 of another project, as with a wrong key.',
      );
      rule.off();
      await completed(task);
      await next.ended();
    },
  },
  {
    name: 'reports/unsupported-operation',
    title: 'keeps a report whose op is not known, until discovery lists it',
    promises: ['5.34', '7.8'],
    handlers: ['conformance/echo'],
    timeoutMs: 120_000,
    async run(world) {
      const fcp = await world.controlPlane({ waitMs: REFUSED_MS });
      const task = fcp.offer(echo('kept'));
      const rule = fcp.on(about(task, 'complete'), (_, ctl) =>
        ctl.problem(400, 'UNSUPPORTED_OPERATION'),
      );
      await world.worker();
      await came(fcp, task, 'complete');
      await world.pause(QUIET_MS);
      same(
        task.reports('fail').length,
        0,
        'how many failures followed a result whose op the answer called unknown (it has to be kept)',
      );
      fcp.on('discovery', (_, ctl) =>
        ctl.pass((answer) => ({
          ...answer,
          body: { ...(answer.body as object), features: ['complete'] },
        })),
      );
      rule.off();
      await completed(task);
    },
  },
];
