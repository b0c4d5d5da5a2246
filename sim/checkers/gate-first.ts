import type { Checker } from './index.ts';

export const gateFirst: Checker = {
  name: 'gate-first',
  rule: 'no effect of a non-idempotent attempt without its gate in the journal',
  check: ({ history, tasks }) => {
    const passed = new Set(
      tasks.flatMap(({ events }) =>
        events
          .filter(
            ({ kind, data }) =>
              kind === 'effect-begun' ||
              (kind === 'started' && (data.via === undefined || data.via === 'effect')),
          )
          .map(({ kind, attemptId }) => `${kind} ${attemptId}`),
      ),
    );
    const jobs = new Map(history.jobs.map((job) => [job.attemptId, job]));
    return history.effects.flatMap(({ attemptId, at }) => {
      const job = jobs.get(attemptId);
      if (job?.effectSafety !== 'non-idempotent') return [];
      const needs = job.effectGate === 'effect' ? 'effect-begun' : 'started';
      return passed.has(`${needs} ${attemptId}`)
        ? []
        : [`${job.type} ${attemptId} had its effect at ${Math.round(at)} without ${needs}`];
    });
  },
};
