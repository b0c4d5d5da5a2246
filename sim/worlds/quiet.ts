import type { PlannedTask } from '../producer.ts';
import type { SimulatedRandom } from '../random.ts';
import type { World } from '../simulation.ts';
import { everyHandler, someTasks, whole } from './parts.ts';

export const quiet: World = {
  name: 'quiet',
  about:
    'nothing goes wrong: each task starts at once, runs once, and nobody asks more often than he should',
  plan: (random) => ({
    workers: Array.from({ length: whole(random, 1, 2) }, () => ({
      maxConcurrent: whole(random, 1, 3),
      latencyMs: 5 + random.fraction() * 40,
      handlers: everyHandler,
    })),
    tasks: inPairs(
      random,
      someTasks(random, { count: whole(random, 3, 7), untilMs: 100_000, workMs: 25_000 }),
    ),
    durationMs: 130_000,
    drainTimeoutMs: 60_000,
    stopGraceMs: 5_000,
    faults: [],
  }),
};

/** Most of them have another one close behind: it comes while the worker is asking for the first. */
function inPairs(random: SimulatedRandom, tasks: readonly PlannedTask[]): PlannedTask[] {
  return tasks.flatMap((task) =>
    random.chance(0.8) ? [task, { ...task, atMs: task.atMs + random.fraction() * 80 }] : [task],
  );
}
