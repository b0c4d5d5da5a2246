import type { World } from '../simulation.ts';
import { everyHandler, someTasks, whole } from './parts.ts';

export const outbox: World = {
  name: 'outbox',
  about:
    'an application that stores its submissions, and dies, while the control plane comes and goes',
  plan: (random) => ({
    workers: [{ maxConcurrent: 3, latencyMs: 10 + random.fraction() * 50, handlers: everyHandler }],
    tasks: someTasks(random, { count: whole(random, 4, 14), untilMs: 60_000, workMs: 3_000 }),
    durationMs: 80_000,
    drainTimeoutMs: 30_000,
    stopGraceMs: 3_000,
    outbox: true,
    faults: [
      'slow',
      'dropRequest',
      'dropAnswer',
      'cutAnswer',
      'repeatRequest',
      'refuseConnection',
      'html502',
      'html200',
      'tooMany',
      'redirect',
      'lineDown',
      'killAtCall',
      'powerCut',
      'suspend',
      'wallJump',
      'diskFull',
      'killPlane',
      'killPlaneAtWrite',
      'stopPlane',
      'killProducer',
    ],
    rates: { killProducer: 0.5 + random.fraction() * 2, lineDown: 0.5 },
  }),
};
