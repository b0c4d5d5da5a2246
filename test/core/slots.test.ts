import { expect, it } from 'vitest';
import { countSlots, wanted } from '../../src/core/slots.ts';
import { claimed, type EventName, having } from './attempt-words.ts';

const pure = (...path: EventName[]) => having(claimed('pure'), ...path);
const waiting = pure();
const asking = having(claimed('start gate'), 'slot granted');
const running = pure('slot granted', 'begun');
const ending = pure('slot granted', 'begun', 'returned');
const spooled = pure('slot granted', 'begun', 'returned', 'written');
const over = pure('slot granted', 'begun', 'returned', 'written', 'answered: done');

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
