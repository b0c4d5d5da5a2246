/** What cases about attempts do, beside `steps.ts`. */
import type { Fcp, Offer, Report, TaskHandle } from '../../../fcp/fcp.ts';
import { expect, same } from '../../check.ts';
import type { World } from '../world.ts';
import { echo, QUIET_MS, taskWords } from './steps.ts';

export const stubborn = (ms: number, more: Partial<Offer> = {}): Offer => ({
  type: 'conformance/stubborn',
  input: { ms },
  ...more,
});
export const spin = (ms: number): Offer => ({ type: 'conformance/spin', input: { ms } });

const ENDS = ['complete', 'fail', 'unknown', 'cancelled', 'lost', 'release'];

/** Ops of the terminal reports of a task, in order. */
export const endings = (task: TaskHandle): string[] =>
  task.reports().flatMap(({ op }) => (ENDS.includes(op) ? [op] : []));

/** No lease of these had run out, as the control plane saw it. */
export function kept(tasks: readonly TaskHandle[]): void {
  for (const task of tasks) {
    const ms = Math.round(task.lapsedMs());
    expect(
      ms === 0,
      `The lease of ${taskWords(task)} had run out for ${ms} ms: no renewal came in time.`,
    );
  }
}

/** The task's handler has left so many traces, and leaves no more for a while. */
export async function effectsStay(world: World, count: number, ms = QUIET_MS): Promise<void> {
  await world.pause(ms);
  same((await world.effects()).length, count, 'how many lines handlers wrote to effects.jsonl');
}

/** Nothing of the task is sent any more, and nothing ended it. */
export async function nothingMore(world: World, task: TaskHandle): Promise<void> {
  const before = task.reports().length;
  await world.pause(QUIET_MS);
  same(
    task.reports().length,
    before,
    `how many reports of ${task.task.offer.type} came, also after the answer that ended it,`,
  );
  same(endings(task), [], 'the terminal reports of a task of which nothing more was to be said');
}

/** Its end, in the words of the contract: `lost timeout killed`. */
export const endWords = ({ op, body: { reason, killed } }: Report): string =>
  [op, op === 'lost' ? reason : undefined, killed ? 'killed' : undefined].filter(Boolean).join(' ');

/** The task is run to its end by a worker that goes on working. */
export async function runsOn(fcp: Fcp, offer: Offer): Promise<void> {
  const { op } = await fcp.offer(offer).ended();
  same(op, 'complete', 'the end of the next task');
}

/**
 * Two other handlers, one after the other, are claimed, begun and ended: what had begun before them has come to its effect
 * by then, however busy the machine is. The worker needs a free slot. Once for each control plane.
 */
export function othersHaveRun(fcp: Fcp): Promise<unknown> {
  const known = witnesses.get(fcp);
  if (known) return known;
  const run = async () => {
    for (const n of [1, 2]) await fcp.offer(echo(`another one, ${n}`)).ended();
  };
  // Where they do not run, others of the kit's cases tell why.
  const ran = run().catch(() => {});
  witnesses.set(fcp, ran);
  return ran;
}
const witnesses = new WeakMap<Fcp, Promise<unknown>>();

/** Two handlers run at the same time: no slot of a worker with two is held by what has ended. */
export async function bothSlotsRun(fcp: Fcp): Promise<void> {
  const tasks = [1, 2].map((n) => fcp.offer(echo({ n, ms: TOGETHER_MS })));
  for (const task of tasks) await task.granted();
  const ended = tasks.filter(({ latest }) => latest?.outcome).length;
  expect(
    ended === 0,
    'Of two tasks the second was claimed only when the first had ended: a slot was still held by the attempt before them.',
  );
  for (const task of tasks) await task.ended();
}
/** Longer than a worker takes from one claim to the next. */
const TOGETHER_MS = 4_000;
