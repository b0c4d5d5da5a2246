import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Bucket,
  burstOf,
  isFull,
  retryAfterSeconds,
  takeToken,
} from '../../src/core/rate-limit.ts';

/** Calls at these times; which were taken. */
function played(times: readonly number[], perMinute: number): number[] {
  let bucket: Bucket | undefined;
  const taken: number[] = [];
  for (const at of times) {
    const answer = takeToken(at, bucket, perMinute);
    bucket = answer.bucket;
    if (answer.ok) taken.push(at);
  }
  return taken;
}

describe('a rate of calls', () => {
  it('lets ten seconds’ worth pass at once, one at least', () => {
    expect([1, 5, 6, 60, 600].map(burstOf)).toEqual([1, 1, 1, 10, 100]);
    expect(played(Array(50).fill(0), 60)).toHaveLength(10);
    expect(played([0, 0, 0], 1)).toHaveLength(1);
  });

  it('says when the next call is taken, and takes it then', () => {
    const first = takeToken(0, undefined, 1);
    const second = takeToken(0, first.bucket, 1);
    expect(second).toMatchObject({ ok: false, retryAfterMs: 60_000 });
    expect(takeToken(59_999, second.bucket, 1)).toMatchObject({ ok: false, retryAfterMs: 1 });
    expect(takeToken(60_000, second.bucket, 1).ok).toBe(true);
  });

  it('tells whole seconds, rounded up, one at least', () => {
    expect([1, 999, 1_000, 1_001, 59_000].map(retryAfterSeconds)).toEqual([1, 1, 1, 2, 59]);
  });

  it('is forgotten once its bucket is full', () => {
    const { bucket } = takeToken(0, undefined, 60);
    expect([isFull(0, bucket, 60), isFull(999, bucket, 60), isFull(1_000, bucket, 60)]).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('holds over any time, lets a patient caller through, and a clock that stands or steps back gives nothing away', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.array(fc.integer({ min: -50, max: 5_000 }), { maxLength: 200 }),
        (perMinute, gaps) => {
          let now = 0;
          let bucket: Bucket | undefined;
          const taken: number[] = [];
          for (const gap of gaps) {
            now += gap;
            const answer = takeToken(now, bucket, perMinute);
            bucket = answer.bucket;
            if (answer.ok) taken.push(now);
            else expect(takeToken(now + answer.retryAfterMs, bucket, perMinute).ok).toBe(true);
          }
          // Steps back make time come twice: every gap forward counts once.
          const forward = gaps.reduce((sum, gap) => sum + Math.max(0, gap), 0);
          expect(taken.length).toBeLessThanOrEqual(
            burstOf(perMinute) + (forward * perMinute) / 60_000 + 1e-6,
          );
        },
      ),
    );
  });
});
