import type { Checker } from './index.ts';

export const neverCalled: Checker = {
  name: 'never-called',
  rule: 'a failure is told as one of a handler that was never called exactly where none was',
  check: ({ history, tasks }) => {
    const jobs = new Map(history.jobs.map((job) => [job.attemptId, job]));
    return tasks.flatMap(({ view, events }) =>
      events.flatMap(({ kind, attemptId, data }) => {
        if (kind !== 'failed' && !(kind === 'late-report' && data.op === 'fail')) return [];
        const called = jobs.get(attemptId as string)?.refused !== true;
        return called === (data.begun !== false)
          ? []
          : [
              `${view.type} ${attemptId} was ${called ? '' : 'never '}called, its ${kind} says otherwise`,
            ];
      }),
    );
  },
};
