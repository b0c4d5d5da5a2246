import type { World } from '../simulation.ts';
import { everyHandler, someTasks, whole } from './parts.ts';

export const operator: World = {
  name: 'operator',
  about: 'a person retries what failed and resolves what is unknown, while late reports still come',
  plan: (random) => ({
    workers: Array.from({ length: 2 }, () => ({
      maxConcurrent: whole(random, 1, 2),
      latencyMs: 10 + random.fraction() * 100,
      handlers: everyHandler,
    })),
    tasks: someTasks(random, { count: whole(random, 4, 10), untilMs: 40_000, workMs: 15_000 }),
    durationMs: 120_000,
    drainTimeoutMs: 40_000,
    stopGraceMs: 3_000,
    operator: true,
    rates: { throws: 0.15, dies: 0.15, lineDown: 0.5 },
  }),
};
