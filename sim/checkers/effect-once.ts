import type { Checker } from './index.ts';

export const effectOnce: Checker = {
  name: 'effect-once',
  rule: "a non-idempotent effect begins at most once per task, and once more for each operator's word",
  check: ({ history, tasks }) =>
    tasks.flatMap(({ view, events }) => {
      const jobs = history.jobs.filter((job) => job.taskId === view.id);
      if (jobs[0]?.effectSafety !== 'non-idempotent') return [];
      const effects = history.effects.filter((effect) => effect.taskId === view.id);
      const words = events.filter(
        ({ kind, data }) =>
          kind === 'retried' || (kind === 'resolved' && data.resolution === 'retry'),
      ).length;
      return effects.length <= 1 + words
        ? []
        : [
            `${view.type} ${view.id} had its effect ${effects.length} times (${effects.map(({ attemptId, at }) => `${attemptId} at ${Math.round(at)}`).join(', ')}), with ${words} words of an operator`,
          ];
    }),
};
