import type { FcpOptions, RequestHandler, TaskHandle } from '../../../fcp/fcp.ts';
import { same } from '../../check.ts';
import type { World } from '../world.ts';
import { about, came, completed, echo, sentWords } from './steps.ts';

/**
 * Each of these is one task's first answer; the report has to come again, as it was. Three at most: a worker may back off
 * from the control plane as a whole, longer each time.
 */
export type Bends = Readonly<Record<string, RequestHandler>>;

export async function comeAgain(
  world: World,
  bends: Bends,
  options: FcpOptions = {},
): Promise<void> {
  const fcp = await world.controlPlane(options);
  const tasks = Object.entries(bends).map(([name, bend]) => {
    const task = fcp.offer(echo({ after: name }));
    fcp.on(about(task, 'complete'), bend, { times: 1 });
    return task;
  });
  await world.worker({ slots: 4 });
  for (const [at, task] of tasks.entries()) {
    const name = Object.keys(bends)[at];
    await came(fcp, task, 'complete', 2, {
      what: () =>
        `\`complete\` once more, as it was, after the answer "${name}" (${playedTo(task)}), which is no acceptance; ${sentWords(task)}`,
    });
    const { body } = await completed(task);
    same(body.result, task.task.offer.input, `the result that came again after "${name}"`);
  }
}

/** What the kit did to its first result. */
function playedTo(task: TaskHandle): string {
  const [first] = task.reports('complete');
  if (first === undefined) return 'not played yet: no result came';
  return `#${first.request.n}: ${first.request.played ?? 'its answer'}`;
}
