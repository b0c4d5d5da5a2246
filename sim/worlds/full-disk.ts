import type { World } from '../simulation.ts';
import { everyHandler, someTasks, whole } from './parts.ts';

export const fullDisk: World = {
  name: 'full-disk',
  about: 'a worker whose disk is full, fails or is slow again and again',
  plan: (random) => ({
    workers: [
      {
        maxConcurrent: whole(random, 1, 4),
        latencyMs: 5 + random.fraction() * 50,
        handlers: everyHandler,
      },
    ],
    tasks: someTasks(random, { count: whole(random, 4, 10), untilMs: 60_000, workMs: 10_000 }),
    durationMs: 90_000,
    drainTimeoutMs: 40_000,
    stopGraceMs: 3_000,
    rates: { diskFull: 2, diskError: 1, slowDisk: 0.5 },
  }),
};
