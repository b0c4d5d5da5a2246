import type { ServedHandler } from '../../src/worker/worker.ts';
import type { PlannedTask } from '../producer.ts';
import type { SimulatedRandom } from '../random.ts';

export const PURE = 'sim/pure';
export const IDEMPOTENT = 'sim/idempotent';
/** Gate `start`. */
export const ONCE = 'sim/once';
/** Gate `effect`. */
export const GATED = 'sim/gated';

export const everyHandler: readonly ServedHandler[] = [
  { type: PURE, schemaVersion: 1, effectSafety: 'pure', effectGate: 'start' },
  { type: IDEMPOTENT, schemaVersion: 1, effectSafety: 'idempotent', effectGate: 'start' },
  { type: ONCE, schemaVersion: 1, effectSafety: 'non-idempotent', effectGate: 'start' },
  { type: GATED, schemaVersion: 1, effectSafety: 'non-idempotent', effectGate: 'effect' },
];

export const everyType = everyHandler.map(({ type }) => type);

/** Tasks of these types, submitted at any moment until then. */
export function someTasks(
  random: SimulatedRandom,
  o: {
    readonly count: number;
    readonly untilMs: number;
    readonly types?: readonly string[];
    /** Longest work. */
    readonly workMs?: number;
    readonly checkpoints?: boolean;
  },
): PlannedTask[] {
  return Array.from({ length: o.count }, () => ({
    atMs: random.fraction() * o.untilMs,
    type: random.pick(o.types ?? everyType),
    input: {
      ms: random.fraction() ** 2 * (o.workMs ?? 20_000),
      ...(o.checkpoints ? { checkpoints: true } : {}),
    },
    policy: {
      maxAttempts: 1 + random.below(5),
      leaseMs: 5_000 + random.below(10_000),
      lostGraceMs: 10_000 + random.below(20_000),
      attemptTimeoutMs: random.chance(0.2) ? 10_000 : 90_000,
      backoff: { initialMs: 500, factor: 2, maxMs: 5_000, jitter: 0.2 },
    },
  }));
}

/** Between the two, whole. */
export function whole(random: SimulatedRandom, least: number, most: number): number {
  return least + random.below(most - least + 1);
}
