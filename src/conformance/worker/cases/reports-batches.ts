/** reports/…: batches, where a worker sends any. */
import { carrying, type Fcp, type LoggedRequest, type TaskHandle } from '../../../fcp/fcp.ts';
import { NotApplicable } from '../../case.ts';
import type { WorkerCase } from '../worker-case.ts';
import type { World } from '../world.ts';
import { completed, echo } from './steps.ts';

const SLOW_MS = 700;
const OUTCOMES = ['complete', 'fail'];
const several = ({ route, reports }: LoggedRequest): boolean =>
  route === 'batch' && reports.filter(({ op }) => OUTCOMES.includes(op)).length > 1;

/** The first answers are slow, so that several results wait and whoever can sends them together. */
async function pileUp(world: World, fcp: Fcp): Promise<TaskHandle[]> {
  fcp.on(
    (request) => !several(request) && carrying('complete')(request),
    (_, ctl) => ctl.later(SLOW_MS),
    { times: 4 },
  );
  const tasks = Array.from({ length: 12 }, (_, n) => fcp.offer(echo({ n })));
  await world.worker({ slots: 4 });
  return tasks;
}

async function delivered(fcp: Fcp, tasks: readonly TaskHandle[]): Promise<void> {
  for (const task of tasks) await completed(task);
  if (!fcp.log.some(several)) throw new NotApplicable('the worker sent no two results together');
}

export const batches: readonly WorkerCase[] = [
  {
    name: 'reports/batch-short',
    title: 'sends again what the answer to a batch says nothing about',
    promises: ['5.44'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      fcp.on(several, (_, ctl) => ctl.answer(200, { results: [] }), { times: 2 });
      await delivered(fcp, await pileUp(world, fcp));
    },
  },
  {
    name: 'reports/batch-refused',
    title: 'takes a batch that is refused whole apart, and drops none of its reports',
    promises: ['5.42', '5.43'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      fcp.on('batch', (request, ctl) =>
        request.reports.some(({ op }) => OUTCOMES.includes(op))
          ? ctl.problem(request.n % 2 ? 413 : 400, 'PAYLOAD_TOO_LARGE')
          : ctl.pass(),
      );
      await delivered(fcp, await pileUp(world, fcp));
    },
  },
];
