import type { World } from '../simulation.ts';
import { everyHandler, IDEMPOTENT, PURE, someTasks, whole } from './parts.ts';

export const longTasks: World = {
  name: 'long-tasks',
  about: 'tasks of many leases that tell checkpoints and go on from them',
  plan: (random) => ({
    workers: [
      {
        maxConcurrent: whole(random, 1, 3),
        latencyMs: 20 + random.fraction() * 200,
        handlers: everyHandler,
      },
    ],
    tasks: someTasks(random, {
      count: whole(random, 1, 4),
      untilMs: 20_000,
      types: [PURE, IDEMPOTENT],
      workMs: 80_000,
      checkpoints: true,
    }),
    durationMs: 120_000,
    drainTimeoutMs: 60_000,
    stopGraceMs: 5_000,
  }),
};
