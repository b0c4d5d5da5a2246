import type { Checker } from './index.ts';

export const submittedOnce: Checker = {
  name: 'submitted-once',
  rule: 'a submission that was accepted, or stored in an outbox, is one task, and no submission is two',
  check: ({ history, tasks }) => {
    const ids = new Set(tasks.map(({ view }) => view.id));
    const keys = tasks.map(({ view }) => view.idempotencyKey);
    return [
      ...history.submitted
        .filter(({ taskId }) => !ids.has(taskId))
        .map(({ taskId }) => `${taskId} was accepted and is not there`),
      ...history.stored
        .filter(({ key }) => !keys.includes(key))
        .map(({ key, at }) => `${key} was stored at ${Math.round(at)} and is no task`),
      ...keys
        .filter((key, i) => keys.indexOf(key) !== i)
        .map((key) => `the submission ${key} became more than one task`),
    ];
  },
};
