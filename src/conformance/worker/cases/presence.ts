/** presence/…: what a worker says of itself while it works. */
import type { Fcp, LoggedRequest } from '../../../fcp/fcp.ts';
import type { WorkerCase } from '../worker-case.ts';
import { sleep } from './steps.ts';

const SLOTS = 2;
/** A change need not be told before the next time that is due: `presentAfterMs` and a little more. */
const TOLD_MS = 20_000;
/** The handlers work until that is told. */
const WORK_MS = 2 * TOLD_MS;

export const presence: readonly WorkerCase[] = [
  {
    name: 'presence/full',
    title:
      'says `full` while all its slots are working, and how many, and `ready` when they are free',
    promises: ['3.5'],
    handlers: ['conformance/sleep'],
    timeoutMs: 4 * TOLD_MS,
    async run(world) {
      const fcp = await world.controlPlane();
      const tasks = [1, 2].map(() => fcp.offer(sleep(WORK_MS)));
      await world.worker({ slots: SLOTS });
      for (const task of tasks) await task.accepted('start');
      await said(fcp, 'full', SLOTS);
      const from = fcp.log.length;
      for (const { taskId } of tasks) fcp.cancel(taskId);
      for (const task of tasks) await task.ended();
      await said(fcp, 'ready', 0, from);
    },
  },
];

/** Waits for a presence of this state with so many slots busy. @param from of the log. */
async function said(fcp: Fcp, state: string, busy: number, from = 0): Promise<void> {
  const right = ({ body }: LoggedRequest) =>
    body?.state === state && body.slots?.busy === busy && body.slots.max === SLOTS;
  await fcp.until(() => fcp.log.slice(from).some((one) => one.route === 'present' && right(one)), {
    timeoutMs: TOLD_MS,
    what: `a presence with state ${state} and slots {"max": ${SLOTS}, "busy": ${busy}}`,
  });
}
