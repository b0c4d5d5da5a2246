import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { SimulatedMachine } from '../../sim/machine.ts';
import { SameWait } from '../../src/carriers/same-wait.ts';
import { PassingMap } from '../../src/core/passing-map.ts';
import type { Connection } from '../../src/stores/sqlite/connection.ts';
import { KeptRows } from '../../src/stores/sqlite/kept-rows.ts';

/**
 * What passes through a map that lives long must not follow the map's old tables into the old space, where it is garbage
 * until a full collection: bytes of the heap, which a busy machine does not change.
 */
const PASSING = 60_000;
/** 35 MB where they all stay; 1.5 MB were seen. */
const MOST_BYTES = 6_000_000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const oldBytes = () =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')
    ?.space_used_size as number;

it('rows that the writer knew for a moment do not stay in memory', () => {
  const c = { put: () => {} } as unknown as Connection;
  const names = Array.from({ length: 24 }, (_, i) => `c${i}`);
  const rows = new KeptRows<{ readonly ref: number; readonly over: boolean }>(c, 't', names, 1);
  const pass = (from: number, to: number) => {
    for (let ref = from; ref < to; ref++) {
      const values = names.map((_, i) => ref + i);
      rows.insert(`row-${ref}`, { ref, over: false }, values);
      const done = ref - RUNNING;
      if (done >= 0)
        rows.save(`row-${done}`, { ref: done, over: true }, [...values.slice(1), done]);
      if (ref % COMMIT !== 0) continue;
      rows.flush();
      rows.settle(({ over }) => !over);
    }
  };
  pass(0, 1_000);
  // From here on the tables of the moment are in the old space.
  collect();
  let came = 0;
  for (let ref = 1_000; ref < PASSING; ref += 1_000) {
    const before = oldBytes();
    pass(ref, ref + 1_000);
    came += Math.max(0, oldBytes() - before);
  }
  expect(came).toBeLessThan(MOST_BYTES);
});

const waits = () => {
  const wait = new SameWait<unknown>(new SimulatedMachine().clock, 5, () => {});
  return { add: (item: unknown) => wait.add(item), remove: (item: unknown) => wait.delete(item) };
};
const map = () => {
  const passing = new PassingMap<unknown, unknown>();
  return { add: (item: unknown) => passing.set(item, item), remove: passing.delete.bind(passing) };
};

it.each([
  ['attempts that passed through the worker', map],
  ['jobs that were waited for', waits],
])('%s do not stay in memory', async (_, make) => {
  const { add, remove } = make();
  const here: unknown[] = [];
  const pass = async (from: number, to: number) => {
    for (let i = from; i < to; i++) {
      const item = new Array(PASSED_WORDS).fill(i);
      add(item);
      here.push(item);
      if (here.length > RUNNING) remove(here.shift());
      if (i % COMMIT === 0) await undefined;
    }
  };
  await pass(0, 1_000);
  collect();
  let came = 0;
  for (let i = 1_000; i < PASSING; i += 1_000) {
    const before = oldBytes();
    await pass(i, i + 1_000);
    came += Math.max(0, oldBytes() - before);
  }
  expect(came).toBeLessThan(MOST_BYTES);
});

/** 0.5 KB each. */
const PASSED_WORDS = 64;
/** Rows known at the same time, and changed by one commit. */
const RUNNING = 100;
const COMMIT = 50;
