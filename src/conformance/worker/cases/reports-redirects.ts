/** reports/…: where a worker follows a redirect to. */
import type { LoggedRequest } from '../../../fcp/fcp.ts';
import { expect, same } from '../../check.ts';
import type { WorkerCase } from '../worker-case.ts';
import { about, came, completed, echo } from './steps.ts';

/** FCP answers below any prefix. */
const MOVED = '/moved';
const moved = ({ path }: LoggedRequest): boolean => path.startsWith(MOVED);

export const redirects: readonly WorkerCase[] = [
  {
    name: 'reports/redirect-elsewhere',
    title: 'follows no redirect to another origin, and takes its key nowhere else',
    promises: ['5.46', '5.35'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const elsewhere = await world.controlPlane();
      const task = fcp.offer(echo(1));
      const rule = fcp.on(about(task, 'complete'), (request, ctl) =>
        ctl.redirect(request.n % 2 ? 307 : 308, `${elsewhere.url}${request.path}`),
      );
      await world.worker();
      await came(fcp, task, 'complete', 2);
      rule.off();
      await completed(task);
      same(elsewhere.log.length, 0, 'how many requests followed the redirect to another origin');
    },
  },
  {
    name: 'reports/redirect-within',
    title: 'follows 307 and 308 within its origin, with the same method and body',
    promises: ['5.46'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const tasks = [307, 308].map((status) => {
        const task = fcp.offer(echo(status));
        const first = about(task, 'complete');
        fcp.on(
          (request) => !moved(request) && first(request),
          (request, ctl) => ctl.redirect(status, `${MOVED}${request.path}`),
        );
        return task;
      });
      await world.worker();
      for (const task of tasks) {
        const { request } = await completed(task);
        expect(moved(request), 'The result did not come to where 307 or 308 had sent it.');
        same(request.method, 'POST', 'the method after the redirect');
      }
    },
  },
  {
    name: 'reports/redirect-method',
    title: 'follows no 301, 302 or 303, which would change the method',
    promises: ['5.46', '5.35'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const tasks = [301, 302, 303].map((status) => {
        const task = fcp.offer(echo(status));
        fcp.on(
          about(task, 'complete'),
          (request, ctl) => ctl.redirect(status, `${MOVED}${request.path}`),
          { times: 1 },
        );
        return task;
      });
      await world.worker({ slots: 3 });
      for (const task of tasks) {
        await completed(task);
      }
      same(fcp.log.filter(moved).length, 0, 'how many requests followed a 301, 302 or 303');
    },
  },
];
