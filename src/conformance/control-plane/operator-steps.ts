import { same } from '../check.ts';
import type { Seen } from './caller.ts';
import { failure, given, isNow, unchanged } from './steps.ts';
import type { TaskShape } from './wire-shapes.ts';
import type { ControlPlaneWorld } from './world.ts';

/** What cases of operators begin with. */

/** `POST /tasks/{id}/retry` of the task as it is now; `fields` add or replace. */
export async function retrying(
  world: ControlPlaneWorld,
  { id }: { readonly id: string },
  fields: Readonly<Record<string, unknown>> = {},
): Promise<Seen> {
  const { seq: ifSeq } = await world.task(id);
  const body = { actionId: world.id('act'), ifSeq, reason: 'the case says so', ...fields };
  return world.post(`/tasks/${id}/retry`, body, world.operatorKey);
}

/** `POST /tasks/{id}/resolve`, in the same way. */
export async function resolving(
  world: ControlPlaneWorld,
  { id }: { readonly id: string },
  resolution: string,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<Seen> {
  const { seq: ifSeq } = await world.task(id);
  const body = { actionId: world.id('act'), ifSeq, resolution, reason: 'seen outside', ...fields };
  return world.post(`/tasks/${id}/resolve`, body, world.operatorKey);
}

/** A task in each of these states that `retry` or `resolve` may meet. */
export async function failed(world: ControlPlaneWorld, passed?: 'start'): Promise<TaskShape> {
  const { task, worker, attempt } = await given(world, passed ? { passed } : {});
  (await worker.report(attempt, 'fail', failure())).is(200);
  return isNow(world, task, 'failed');
}

export async function unknownOutcome(world: ControlPlaneWorld): Promise<TaskShape> {
  const { task, worker, attempt } = await given(world, { passed: 'start' });
  (await worker.report(attempt, 'unknown', failure())).is(200);
  return isNow(world, task, 'outcome-unknown');
}

/** The journal after the work begins with the journal before it. @returns the entries that were added. */
export async function adds(
  world: ControlPlaneWorld,
  { id }: TaskShape,
  work: () => Promise<unknown>,
) {
  const before = await world.events(id);
  await work();
  const after = await world.events(id);
  same(after.slice(0, before.length), before, 'the entries that were there before');
  return after.slice(before.length);
}

/** Refused with 409, and nothing of the task is changed. */
export const refuses = (world: ControlPlaneWorld, task: TaskShape, work: () => Promise<Seen>) =>
  unchanged(world, task, async () => void (await work()).refuses(409, 'CONFLICT'));

/** Runs to its end, with one more attempt. */
export async function runs(world: ControlPlaneWorld, task: TaskShape): Promise<void> {
  const worker = world.worker();
  const attempt = await worker.claimOne(task.type);
  same(attempt.cancelRequested, false, 'cancelRequested of the new attempt');
  (await worker.report(attempt, 'complete', { result: 'at last' })).is(200);
  same((await isNow(world, task, 'succeeded')).result, 'at last', 'the result of the task');
}
