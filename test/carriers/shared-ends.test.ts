import { expect, it } from 'vitest';
import type { KernelKills } from '../../src/carriers/out-of-memory.ts';
import { type Blame, endOfShared } from '../../src/carriers/shared-ends.ts';
import type { SharedRun } from '../../src/carriers/shared-run.ts';

const run = (taskId: string) => ({ job: { taskId } }) as SharedRun;
const kernelKills = { justRose: () => false } as KernelKills;
const [one, two] = [run('tsk_1'), run('tsk_2')];
const killed = { signal: 'SIGKILL' };
const why = (of: SharedRun, begun: SharedRun[], blame?: Blame) => {
  const end = endOfShared(killed, 'its last words', kernelKills, begun, blame)(of);
  return end.how === 'died' ? end.why : end;
};

it('tells each task of a shared host what it has to do with the end of its process', () => {
  const held = 'held its thread for 10 s';
  expect(why(one, [one], { run: one, did: held })).toBe(
    'It held its thread for 10 s, and the worker ended its process.',
  );
  expect(why(two, [one, two], { run: one, did: held })).toBe(
    'It shared a process with task tsk_1, which held its thread for 10 s: that ended the process. Nothing is wrong with this task.',
  );
  expect(why(two, [one, two], { did: held })).toBe(
    'One of the 2 tasks in its process (tsk_1, tsk_2) held its thread for 10 s, so the worker ended the process. Which of them did it cannot be told.',
  );
  expect(why(one, [one])).toBeUndefined();
});
