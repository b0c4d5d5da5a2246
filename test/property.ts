/**
 * How many cases a property test tries: few in `npm test`, more when asked for, as in
 * `INTERLOCK_PROPERTY_RUNS=20 npx vitest run test/core` (a factor on each test's own number).
 */
export function runs(own: number): number {
  const factor = Number(process.env.INTERLOCK_PROPERTY_RUNS ?? 1);
  return Math.max(1, Math.round(own * (Number.isFinite(factor) && factor > 0 ? factor : 1)));
}
