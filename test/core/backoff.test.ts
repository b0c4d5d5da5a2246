import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs, jittered } from '../../src/core/backoff.ts';
import { runs } from '../property.ts';

const standard = { initialMs: 5_000, factor: 2, maxMs: 120_000, jitter: 0.2 };

describe('backoff', () => {
  it('grows by its factor up to its bound', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 1_000].map((n) => backoffMs(standard, n, 0.5))).toEqual([
      5_000, 10_000, 20_000, 40_000, 80_000, 120_000, 120_000, 120_000,
    ]);
  });

  it('is varied either way by its jitter, also at its bound', () => {
    expect(backoffMs(standard, 1, 0)).toBe(4_000);
    expect(backoffMs(standard, 1, 0.75)).toBe(5_500);
    expect(backoffMs(standard, 9, 0)).toBe(96_000);
    expect(jittered(100, 0.5, 0.5)).toBe(100);
  });

  it('takes a first delay of nothing', () => {
    expect(backoffMs({ ...standard, initialMs: 0 }, 5, 0.3)).toBe(0);
  });

  it('is a finite number for every policy that is taken, whatever the count', () => {
    const policy = fc.record({
      initialMs: fc.integer({ min: 0, max: 2_147_483_647_000 }),
      factor: fc.double({ min: 1, max: 100, noNaN: true }),
      maxMs: fc.integer({ min: 0, max: 2_147_483_647_000 }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(
        policy,
        fc.integer({ min: 0, max: 10_020 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (backoff, n, chance) => {
          const ms = backoffMs(backoff, n, chance);
          expect(ms).toBeGreaterThanOrEqual(0);
          expect(ms).toBeLessThanOrEqual(backoff.maxMs * (1 + backoff.jitter));
        },
      ),
      { numRuns: runs(500) },
    );
  });
});
