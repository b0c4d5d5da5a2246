import { expect, it } from 'vitest';
import { workerDefaults } from '../../src/core/defaults.ts';
import { goesBeside, nextCallAt } from '../../src/worker/report-gather.ts';

const AT_ONCE = Number.NEGATIVE_INFINITY;
const facts = { waiting: 1, calls: 0, lastCallAt: 1_000, moreSoon: false, batch: 100 };

it('a lone report goes at once; one behind a call under way waits for it, or for a few others', () => {
  expect(nextCallAt(facts)).toBe(AT_ONCE);
  const behind = { ...facts, calls: 1 };
  expect(nextCallAt(behind)).toBe(1_000 + workerDefaults.reportsGatherMs);
  const few = { ...behind, waiting: workerDefaults.reportsForOneMoreCall };
  expect(nextCallAt(few)).toBe(AT_ONCE);
});

it('while short work waits for slots, calls keep apart, under way or not, until one is full with reports and their starts', () => {
  const soon = { ...facts, waiting: 49, moreSoon: true };
  const apart = 1_000 + workerDefaults.reportsAheadGatherMs;
  expect([nextCallAt(soon), nextCallAt({ ...soon, calls: 1 })]).toEqual([apart, apart]);
  expect(nextCallAt({ ...soon, waiting: 50 })).toBe(AT_ONCE);
  expect(nextCallAt({ ...soon, waiting: 50, calls: 2 })).toBe(apart);
  expect(nextCallAt({ ...soon, waiting: 100, calls: 2 })).toBe(AT_ONCE);
  expect(nextCallAt({ ...soon, waiting: 100, batch: 256 })).toBe(apart);
});

it('what gathers goes beside a claim from a quarter of a call on', () => {
  expect([goesBeside(0, 256), goesBeside(31, 256), goesBeside(32, 256)]).toEqual([
    false,
    false,
    true,
  ]);
});
