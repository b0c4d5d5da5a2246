import type { World } from '../simulation.ts';
import { everyHandler, someTasks, whole } from './parts.ts';

export const fleet: World = {
  name: 'fleet',
  about: '20 workers whose streams are cut and whose control plane goes away: they all come back',
  plan: (random) => ({
    workers: Array.from({ length: 20 }, () => ({
      maxConcurrent: whole(random, 1, 3),
      latencyMs: 5 + random.fraction() * 100,
      handlers: everyHandler,
    })),
    tasks: someTasks(random, { count: whole(random, 20, 40), untilMs: 30_000, workMs: 8_000 }),
    durationMs: 45_000,
    drainTimeoutMs: 30_000,
    stopGraceMs: 3_000,
    faults: [
      'slow',
      'dropAnswer',
      'cutStream',
      'killPlane',
      'stopPlane',
      'killWorker',
      'dies',
      'lineDown',
      'sigterm',
    ],
  }),
};
