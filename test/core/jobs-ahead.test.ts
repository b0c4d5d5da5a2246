import fc from 'fast-check';
import { expect, it } from 'vitest';
import { aheadInHostDefaults } from '../../src/core/defaults.ts';
import {
  CallTimes,
  mayBeginUnmarked,
  type SlowHead,
  slowHead,
  takesMore,
} from '../../src/core/jobs-ahead.ts';
import { runs } from '../property.ts';

const { calls, heldMs, most, reckonEvery, slowMs, unreadMs, workMs } = aheadInHostDefaults;
const TAKE_MS = 30_000;
const ms = fc.double({ min: 0, max: 100, noNaN: true });

function timesOf(...all: number[]): CallTimes {
  const times = new CallTimes();
  for (const one of all) times.add(one);
  return times;
}

it('says nothing of a handler before it was called often enough', () => {
  const few = new Array(calls - 1).fill(0.1);
  expect(timesOf(...few).shortMs).toBeUndefined();
  expect(timesOf(...few, 0.1).shortMs).toBe(0.1);
});

it('takes a handler for short by what most of its last calls took', () => {
  fc.assert(
    fc.property(fc.array(ms, { minLength: calls, maxLength: calls }), (all) => {
      const median = all.toSorted((a, b) => a - b)[(calls - 1) / 2] ?? 0;
      expect(timesOf(...all).shortMs).toBe(median <= workMs ? median : undefined);
    }),
    { numRuns: runs(200) },
  );
});

it('forgets what was: a handler that has become long is soon no short one, and the other way round', () => {
  fc.assert(
    fc.property(fc.array(ms, { maxLength: 50 }), (before) => {
      const after = (one: number) => new Array(calls + reckonEvery).fill(one);
      expect(timesOf(...before, ...after(workMs * 2)).shortMs).toBeUndefined();
      expect(timesOf(...before, ...after(workMs / 2)).shortMs).toBe(workMs / 2);
    }),
    { numRuns: runs(200) },
  );
});

it('never calls one short again that needs its process to itself', () => {
  const times = timesOf(...new Array(calls).fill(0.1));
  times.apart();
  for (let i = 0; i < 2 * calls; i++) times.add(0.1);
  expect(times.shortMs).toBeUndefined();
});

it('fills a host up to its work and its number, and not behind a slow call', () => {
  fc.assert(
    fc.property(fc.nat(100), fc.boolean(), ms, ms, (jobs, slow, busyMs, shortMs) => {
      if (!takesMore({ jobs, slow, busyMs }, shortMs)) return;
      expect(slow).toBe(false);
      expect(jobs).toBeLessThan(most);
      expect((jobs + 1) * shortMs).toBeLessThanOrEqual(workMs);
    }),
    { numRuns: runs(200) },
  );
  expect(takesMore({ jobs: 15, slow: false, busyMs: 0 }, 0.01)).toBe(true);
});

it('asks back only what waits, moves it only where that was not answered, and kills only what has taken nothing', () => {
  const long = fc.double({ min: 0, max: 2 * TAKE_MS, noNaN: true });
  const maybe = fc.option(long, { nil: undefined });
  const heads: fc.Arbitrary<SlowHead> = fc.record({
    headMs: long,
    begunMs: maybe,
    waiting: fc.nat(3),
    recalledMs: maybe,
  });
  fc.assert(
    fc.property(heads, (head) => {
      const { begunMs, headMs, recalledMs, waiting } = head;
      const step = slowHead(head, TAKE_MS);
      if (step === 'recall' || step === 'move') expect(waiting).toBeGreaterThan(0);
      if (step === 'recall') {
        expect(recalledMs).toBeUndefined();
        expect(begunMs ?? headMs).toBeGreaterThanOrEqual(begunMs === undefined ? unreadMs : slowMs);
      }
      if (step === 'move') expect(recalledMs).toBeGreaterThanOrEqual(heldMs);
      if (step === 'kill') expect(begunMs).toBeUndefined();
      if (step === 'rest') expect([begunMs === undefined, waiting]).toEqual([false, 0]);
    }),
    { numRuns: runs(200) },
  );
});

it('lets begin unmarked only a first attempt that may be repeated and has another after it', () => {
  const first = { effectSafety: 'idempotent', fence: 1 };
  expect(mayBeginUnmarked(first)).toBe(true);
  expect(mayBeginUnmarked({ ...first, effectSafety: 'non-idempotent' })).toBe(false);
  expect(mayBeginUnmarked({ ...first, fence: 2 })).toBe(false);
  expect(mayBeginUnmarked({ ...first, lastPermitted: true })).toBe(false);
});
