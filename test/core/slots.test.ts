import { expect, it } from 'vitest';
import type { AttemptState } from '../../src/core/attempt.ts';
import { workerDefaults } from '../../src/core/defaults.ts';
import { slotCount, slotUse, startable, wanted } from '../../src/core/slots.ts';
import { claimed, type EventName, having } from './attempt-words.ts';

const pure = (...path: EventName[]) => having(claimed('pure'), ...path);
const waiting = pure();
const asking = having(claimed('start gate'), 'slot granted');
const running = pure('slot granted', 'begun');
const ending = pure('slot granted', 'begun', 'returned');
const spooled = pure('slot granted', 'begun', 'returned', 'written');
const over = pure('slot granted', 'begun', 'returned', 'written', 'answered: done');

const tally = (attempts: readonly AttemptState[]) => {
  const counted = { waiting: 0, working: 0, ending: 0 };
  for (const attempt of attempts) {
    const use = slotUse(attempt);
    if (use !== undefined) counted[use]++;
  }
  return counted;
};
const countSlots = (max: number, attempts: readonly AttemptState[]) =>
  slotCount(max, tally(attempts));

it('may claim for every slot while nothing is here', () => {
  expect(countSlots(2, [])).toEqual({ held: 0, waiting: 0, claimable: 2 });
});

it('holds a slot from the grant until the report is on disk', () => {
  expect(countSlots(4, [asking, running, ending])).toMatchObject({ held: 3 });
  expect(countSlots(4, [spooled, over, waiting])).toMatchObject({ held: 0 });
});

it('may claim for a slot whose handler has gone while its report is being written', () => {
  expect(countSlots(1, [running]).claimable).toBe(0);
  expect(countSlots(1, [ending]).claimable).toBe(1);
});

it('claims no more for what already waits', () => {
  expect(countSlots(1, [ending, waiting])).toEqual({ held: 1, waiting: 1, claimable: 0 });
  expect(countSlots(2, [running, waiting]).claimable).toBe(0);
});

it('keeps the slot of a handler that is stopped but has not gone', () => {
  expect(countSlots(1, [pure('slot granted', 'begun', 'stale')])).toMatchObject({
    held: 1,
    claimable: 0,
  });
  expect(countSlots(1, [pure('slot granted', 'begun', 'timeout', 'stuck')])).toMatchObject({
    held: 1,
    claimable: 0,
  });
});

it('gives a slot away while the report of its last handler is being written', () => {
  expect(startable(1, tally([running]), 0, false)).toBe(0);
  expect(startable(1, tally([ending]), 0, false)).toBe(1);
  expect(startable(1, tally([running, ending]), 0, false)).toBe(0);
});

it('keeps slots for reports that the disk refuses, that are large, or many', () => {
  const { endingMost, endingBytesMost } = workerDefaults;
  expect(startable(1, tally([ending]), 0, true)).toBe(0);
  expect(startable(1, tally([ending]), endingBytesMost + 1, false)).toBe(0);
  const many = Array.from({ length: endingMost + 1 }, () => ending);
  expect(startable(2, tally(many), endingBytesMost, false)).toBe(1);
});

it('never asks for less than nothing', () => {
  expect(countSlots(1, [running, waiting, waiting]).claimable).toBe(0);
  expect(countSlots(0, [running]).claimable).toBe(0);
});

it('wants each served type with what its handler declares', () => {
  const handler = {
    type: 'demo/hello',
    schemaVersion: 1,
    effectSafety: 'pure',
    effectGate: 'start',
  } as const;
  expect(wanted(3, [handler, { ...handler, type: 'b' }])).toEqual([
    { ...handler, slots: 3 },
    { ...handler, type: 'b', slots: 3 },
  ]);
});
