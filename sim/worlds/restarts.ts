import type { World } from '../simulation.ts';
import { everyHandler, someTasks, whole } from './parts.ts';

export const restarts: World = {
  name: 'restarts',
  about:
    'a control plane that is killed or stopped about once a minute, before and after its commits',
  plan: (random) => ({
    workers: Array.from({ length: 2 }, () => ({
      maxConcurrent: whole(random, 1, 3),
      latencyMs: 5 + random.fraction() * 50,
      handlers: everyHandler,
    })),
    tasks: someTasks(random, { count: whole(random, 4, 12), untilMs: 80_000 }),
    durationMs: 120_000,
    drainTimeoutMs: 60_000,
    stopGraceMs: 5_000,
    rates: { killPlane: 1, stopPlane: 0.5, killPlaneAtWrite: 0.004 },
  }),
};
