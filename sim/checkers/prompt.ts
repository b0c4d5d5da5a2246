import type { Checker } from './index.ts';

/** A hint, the gap between two claims, the way there and back; less than the shortest pause between two polls. */
const PROMPT_MS = 700;

export const prompt: Checker = {
  name: 'prompt',
  rule: 'where nothing goes wrong a task starts as soon as a slot is free',
  check: ({ history, plan, rates }) => {
    if (Object.values(rates).some((rate) => rate > 0)) return [];
    const slots = plan.workers.reduce((sum, { maxConcurrent }) => sum + maxConcurrent, 0);
    const first = new Map<string, number>();
    for (const { taskId, startedAt } of history.jobs)
      if (!first.has(taskId)) first.set(taskId, startedAt);
    return history.submitted.flatMap(({ taskId, at }) => {
      const began = first.get(taskId) ?? Number.POSITIVE_INFINITY;
      // The longest time that it waited while a slot was free.
      let free = 0;
      let since: number | undefined;
      const moments = [
        at,
        ...history.jobs.flatMap(({ startedAt, goneAt }) => [
          startedAt,
          goneAt ?? Number.POSITIVE_INFINITY,
        ]),
      ]
        .filter((moment) => moment >= at && moment < began)
        .sort((a, b) => a - b);
      for (const moment of [...moments, Math.min(began, at + 3_600_000)]) {
        if (since !== undefined) free = Math.max(free, moment - since);
        const busy = history.jobs.filter(
          (job) => job.startedAt <= moment && (job.goneAt ?? Number.POSITIVE_INFINITY) > moment,
        ).length;
        if (busy >= slots) since = undefined;
        else since ??= moment;
      }
      return free <= PROMPT_MS
        ? []
        : [
            `${taskId} waited ${Math.round(free)} ms while a slot was free (submitted ${Math.round(at)}, begun ${Math.round(began)})`,
          ];
    });
  },
};
