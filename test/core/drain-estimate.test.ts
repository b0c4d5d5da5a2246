import { describe, expect, it } from 'vitest';
import { estimateDrain } from '../../src/core/drain-estimate.ts';

describe('how long a drain takes', () => {
  it('is nothing where nothing runs', () => {
    expect(estimateDrain([], 600_000)).toEqual({ atMostMs: 600_000, likelyMs: 0 });
  });

  it('is what the longest one usually still needs', () => {
    const running = [
      { runningMs: 1_000, typicalMs: 5_000 },
      { runningMs: 20_000, typicalMs: 30_000 },
    ];
    expect(estimateDrain(running, 600_000)).toEqual({ atMostMs: 600_000, likelyMs: 10_000 });
  });

  it('is never beyond the deadline', () => {
    const running = [{ runningMs: 0, typicalMs: 3_600_000 }];
    expect(estimateDrain(running, 600_000).likelyMs).toBe(600_000);
    expect(estimateDrain(running, -5)).toEqual({ atMostMs: 0, likelyMs: 0 });
  });

  it('is unknown where one type was never seen to end, or takes longer than usual', () => {
    const known = { runningMs: 0, typicalMs: 5_000 };
    expect(estimateDrain([known, { runningMs: 0 }], 60_000)).toEqual({ atMostMs: 60_000 });
    expect(estimateDrain([known, { runningMs: 5_001, typicalMs: 5_000 }], 60_000)).toEqual({
      atMostMs: 60_000,
    });
  });
});
