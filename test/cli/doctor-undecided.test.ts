import { expect, it } from 'vitest';
import { checkUndecided } from '../../src/cli/doctor/undecided.ts';
import type { TaskList, TaskView } from '../../src/contract/index.ts';

const list = (ids: readonly string[], more: Partial<TaskList> = {}): TaskList => ({
  tasks: ids.map((id) => ({ id }) as TaskView),
  ...more,
});

it('tasks that wait for a person are one warning, with one id and the command that decides it', () => {
  expect(checkUndecided(list(['tsk_1', 'tsk_2']))).toEqual([
    {
      name: 'decisions',
      state: 'warn',
      says: '2 tasks need a decision, one of them: tsk_1',
      fix: 'Look whether its effect took place, then: interlock tasks resolve tsk_1 --as succeeded --reason "…" (or --as failed, or --as retry). All of them: interlock tasks list --needs-attention',
    },
  ]);
  expect(checkUndecided(list(['tsk_1']))[0]?.says).toBe('1 task needs a decision: tsk_1');
  expect(checkUndecided(list(['tsk_1'], { cursor: 'x' }))[0]?.says).toMatch(
    /^1 or more tasks need/,
  );
});

it('says nothing where none waits, or nobody may look', () => {
  expect(checkUndecided(list([]))).toEqual([]);
  expect(checkUndecided(undefined)).toEqual([]);
});
