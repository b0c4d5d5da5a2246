import { describe, expect, it } from 'vitest';
import { afterClaim, firstPoll, type Polling, pollDelayMs } from '../../src/core/polling.ts';

const empty = (times: number): Polling => {
  let polling = firstPoll;
  for (let i = 0; i < times; i++) polling = afterClaim(polling, { granted: 0, asked: 1 }).polling;
  return polling;
};
const hints = { hintsWork: true, pollAfterMs: 0 };
const noHints = { hintsWork: false, pollAfterMs: 0 };

describe('polling', () => {
  it('goes from 1 s to 15 s while hints work', () => {
    expect([1, 2, 3, 4, 5, 6, 50].map((n) => pollDelayMs(empty(n), hints, 0))).toEqual([
      1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000,
    ]);
  });

  it('is at most 5 s while they do not, by any chance', () => {
    for (const fraction of [0, 0.5, 0.999])
      for (const n of [0, 1, 5, 100])
        expect(pollDelayMs(empty(n), noHints, fraction)).toBeLessThanOrEqual(5_000);
  });

  it('is spread by chance, and never beyond its bound', () => {
    expect(pollDelayMs(empty(9), hints, 0.999)).toBeGreaterThan(11_000);
    expect(pollDelayMs(empty(9), hints, 0.999)).toBeLessThan(pollDelayMs(empty(9), hints, 0));
  });

  it('has the bound that was set', () => {
    expect(pollDelayMs(empty(9), { ...hints, maxMs: 60_000 }, 0)).toBe(60_000);
    expect(pollDelayMs(empty(9), { ...noHints, maxMs: 2_000 }, 0)).toBe(2_000);
  });

  it('waits the longer of its own schedule and the wish of the control plane', () => {
    expect(pollDelayMs(empty(1), { ...hints, pollAfterMs: 7_000 }, 0)).toBe(7_000);
    expect(pollDelayMs(empty(9), { ...hints, pollAfterMs: 7_000 }, 0)).toBe(15_000);
    expect(pollDelayMs(empty(9), { ...noHints, pollAfterMs: 60_000 }, 0)).toBe(60_000);
  });

  it('believes no wish beyond 2 minutes, and none below 0', () => {
    expect(pollDelayMs(empty(1), { ...hints, pollAfterMs: 1e9 }, 0)).toBe(120_000);
    expect(pollDelayMs(empty(1), { ...hints, pollAfterMs: -5 }, 0)).toBe(1_000);
  });

  it('asks at once after a full answer, and begins anew after any work', () => {
    expect(afterClaim(empty(5), { granted: 2, asked: 2 })).toEqual({
      polling: { ...firstPoll, full: true },
      atOnce: true,
    });
    expect(afterClaim(empty(5), { granted: 1, asked: 2 })).toEqual({
      polling: firstPoll,
      atOnce: false,
    });
    expect(afterClaim(empty(5), { granted: 0, asked: 2 }).atOnce).toBe(false);
    expect(pollDelayMs(firstPoll, hints, 0)).toBe(1_000);
  });
});
