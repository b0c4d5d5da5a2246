import type { World } from '../simulation.ts';
import { everyHandler, someTasks, whole } from './parts.ts';

export const garage: World = {
  name: 'garage',
  about: 'one worker on a bad line, whose machine sleeps, loses power and is restarted',
  plan: (random) => ({
    workers: [
      {
        maxConcurrent: whole(random, 1, 4),
        latencyMs: 10 + random.fraction() * 300,
        handlers: everyHandler,
      },
    ],
    tasks: someTasks(random, { count: whole(random, 2, 8), untilMs: 60_000 }),
    durationMs: 90_000,
    drainTimeoutMs: 60_000,
    stopGraceMs: 5_000,
  }),
};
