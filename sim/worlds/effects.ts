import type { World } from '../simulation.ts';
import { everyHandler, GATED, ONCE, someTasks, whole } from './parts.ts';

export const effects: World = {
  name: 'effects',
  about:
    'effects that must not be repeated, with both gates, on two workers that die and lose answers',
  plan: (random) => ({
    workers: Array.from({ length: 2 }, () => ({
      maxConcurrent: whole(random, 1, 3),
      latencyMs: 5 + random.fraction() * 100,
      handlers: everyHandler,
    })),
    tasks: someTasks(random, {
      count: whole(random, 3, 10),
      untilMs: 50_000,
      types: [ONCE, GATED],
      workMs: 15_000,
    }),
    durationMs: 80_000,
    drainTimeoutMs: 40_000,
    stopGraceMs: 3_000,
  }),
};
