import { expect, it } from 'vitest';
import { aheadDefaults } from '../../src/core/ahead-defaults.ts';
import { claimAhead, LastRuns } from '../../src/core/claim-ahead.ts';
import { taskDefaults, workerDefaults } from '../../src/core/defaults.ts';

const { most, othersMs, runs, shortMs, workMs } = aheadDefaults;
const short = (longestMs: number, working = 0) => ({ longestMs, meanMs: longestMs, working });
const long = { longestMs: 10_000, meanMs: 10_000, working: 0 };
const unknown = { longestMs: undefined, meanMs: undefined, working: 0 };
const idle = {
  maxConcurrent: 4,
  claimable: 4,
  waiting: 0,
  slow: 0,
  moreThere: false,
  othersWait: false,
  sinceAllMs: 0,
};
const busy = { ...idle, claimable: 0 };

const extra = (facts: Parameters<typeof claimAhead>[0]) => claimAhead(facts).extra;

it('claims what the slots do within a bound of time', () => {
  expect(extra({ ...busy, types: [short(10)] })).toBe((4 * workMs) / 10);
  expect(extra({ ...busy, maxConcurrent: 1, types: [short(10)] })).toBe(workMs / 10);
  expect(extra({ ...busy, maxConcurrent: 1, types: [short(workMs + 1)] })).toBe(0);
});

it('reckons by the mean, and takes for short what never took long', () => {
  const once = { longestMs: shortMs, meanMs: 5, working: 0 };
  expect(extra({ ...busy, maxConcurrent: 1, types: [once] })).toBe(workMs / 5);
  expect(extra({ ...busy, types: [{ ...once, longestMs: shortMs + 1 }] })).toBe(0);
});

it('claims at most so many, however short the handlers are', () => {
  expect(extra({ ...busy, maxConcurrent: 16, types: [short(0)] })).toBe(most);
});

it('has so few ahead that two claims bring them, and that no task is given back as often as would end it', () => {
  expect(most).toBeLessThanOrEqual(2 * workerDefaults.claimMost);
  expect(Math.ceil(most / runs)).toBeLessThan(taskDefaults.undeliveredMax);
});

it('claims nothing ahead for handlers that are long or not known', () => {
  expect(extra({ ...idle, types: [unknown] })).toBe(0);
  expect(extra({ ...idle, maxConcurrent: 1_000, types: [short(shortMs + 1)] })).toBe(0);
  expect(extra({ ...idle, types: [] })).toBe(0);
});

it('counts no slot in which something is slow', () => {
  expect(extra({ ...busy, slow: 3, types: [short(10)] })).toBe(workMs / 10);
  expect(extra({ ...busy, slow: 4, types: [short(10)] })).toBe(0);
});

it('goes by the slowest of several short types', () => {
  expect(extra({ ...busy, types: [short(1), short(20)] })).toBe((4 * workMs) / 20);
});

it('asks again only when half of what was ahead is gone, so that a claim brings many', () => {
  const types = [short(10)];
  const all = (4 * workMs) / 10;
  expect(extra({ ...busy, waiting: all / 2 + 1, types })).toBe(0);
  expect(extra({ ...busy, waiting: all / 2, types })).toBe(all / 2);
});

it('leaves a free slot to whatever comes first where other types are served too', () => {
  for (const other of [long, unknown])
    expect(claimAhead({ ...idle, claimable: 1, types: [short(1, 3), other] }).extra).toBe(0);
});

it('claims short ones alone behind slots in which short ones work', () => {
  for (const other of [long, unknown])
    expect(claimAhead({ ...busy, types: [short(10, 2), other] })).toEqual({
      extra: (2 * workMs) / 10,
      shortOnly: true,
    });
  expect(claimAhead({ ...busy, types: [short(10, 0), long] }).extra).toBe(0);
});

it('takes a free slot for one of the short ones while more of them are there', () => {
  const facts = { ...idle, claimable: 1, moreThere: true, types: [short(10, 3), long] };
  expect(claimAhead(facts)).toEqual({ extra: (4 * workMs) / 10, shortOnly: true });
  expect(extra({ ...facts, sinceAllMs: othersMs + 1 })).toBe(0);
});

it('lets other types wait only so long behind short ones, then claims one of any type', () => {
  const types = [short(10, 2), long];
  expect(claimAhead({ ...busy, sinceAllMs: othersMs, types }).shortOnly).toBe(true);
  const late = { ...busy, waiting: most - 1, sinceAllMs: othersMs + 1 };
  expect(claimAhead({ ...late, types })).toEqual({ extra: 1, shortOnly: false });
  expect(extra({ ...late, types: [short(10, 0), long] })).toBe(0);
});

it.each([most, most + 1])(
  'has no more wait than it may, also of other types: with %i nothing is claimed',
  (waiting) => {
    const late = { ...busy, waiting, sinceAllMs: othersMs + 1 };
    expect(extra({ ...late, types: [short(10, 2), long] })).toBe(0);
    expect(extra({ ...late, maxConcurrent: 16, types: [short(0)] })).toBe(0);
  },
);

it('claims nothing ahead behind one of another type that waits', () => {
  const types = [short(10, 2), long];
  expect(extra({ ...busy, othersWait: true, types })).toBe(0);
  expect(extra({ ...busy, othersWait: true, sinceAllMs: othersMs + 1, types })).toBe(0);
});

it('knows a type by the longest of its last runs, and not before there were enough', () => {
  const last = new LastRuns();
  last.add(500);
  for (let n = 1; n < runs; n++) {
    expect(last.longestMs).toBeUndefined();
    last.add(1);
  }
  expect(last.longestMs).toBe(500);
  expect(last.meanMs).toBe((500 + (runs - 1)) / runs);
  last.add(2);
  expect(last.longestMs).toBe(2);
});
