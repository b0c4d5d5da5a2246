import type { World } from '../simulation.ts';
import { everyHandler, someTasks, whole } from './parts.ts';

export const drain: World = {
  name: 'drain',
  about:
    'two workers under load that are drained again and again, some before their handlers can end',
  plan: (random) => ({
    workers: Array.from({ length: 2 }, () => ({
      maxConcurrent: whole(random, 1, 4),
      latencyMs: 5 + random.fraction() * 50,
      handlers: everyHandler,
    })),
    tasks: someTasks(random, { count: whole(random, 6, 16), untilMs: 50_000, workMs: 40_000 }),
    durationMs: 80_000,
    drainTimeoutMs: whole(random, 3_000, 30_000),
    stopGraceMs: 2_000,
    rates: { sigterm: 1.5 },
    drains: [{ worker: 0, atMs: random.fraction() * 60_000 }],
  }),
};
