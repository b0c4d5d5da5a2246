import { describe, expect, it } from 'vitest';
import {
  begunAgain,
  endedWell,
  everyType,
  everyTypeInWords,
  failedHere,
  type HostFailures,
  nextTrial,
  noPauses,
  type Pauses,
  pausedBy,
  pausedTypes,
  pauseInWords,
  slotsFor,
} from '../../src/core/type-pauses.ts';

const A = 'demo/a@1';
const B = 'demo/b@1';
/** Without chance. */
const MIDDLE = 0.5;

function fail(pauses: Pauses, now: number, type = A, code = 'HANDLER_NOT_LOADED', why = 'broken') {
  return pausedBy(pauses, { type, code, why }, now, MIDDLE);
}

it('doubles from one second to a minute while trial after trial fails', () => {
  const lengths: number[] = [];
  let pauses = noPauses;
  let now = 0;
  for (let i = 0; i < 9; i++) {
    pauses = fail(pauses, now).pauses;
    const pause = pauses.get(A);
    lengths.push(pause?.forMs ?? 0);
    now = pause?.until ?? 0;
  }
  expect(lengths).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((s) => s * 1_000));
});

it.each([
  [0, 800],
  [0.5, 1_000],
  [0.999_999, 1_200],
])('is varied by chance %d to %d ms', (fraction, ms) => {
  const { pauses } = pausedBy(noPauses, { type: A, code: 'X', why: '' }, 0, fraction);
  expect(Math.round(pauses.get(A)?.forMs ?? 0)).toBe(ms);
});

it('is never longer than a minute, chance included', () => {
  let pauses = noPauses;
  for (let now = 0; now < 1e7; now += 1e6)
    pauses = pausedBy(pauses, { type: A, code: 'X', why: '' }, now, 0.999).pauses;
  expect(pauses.get(A)?.forMs).toBe(60_000);
});

it('counts what was claimed together as one failure', () => {
  const first = fail(noPauses, 0);
  expect(first.made).toEqual([A]);
  const second = fail(first.pauses, 999);
  expect(second.made).toEqual([]);
  expect(second.pauses.get(A)).toEqual(first.pauses.get(A));
});

const own = fail(noPauses, 0).pauses;
const host = fail(noPauses, 0, A, 'HOST_NOT_STARTED').pauses;

/** An attempt that waits or is being started; one that has begun. */
const waits = (type: string, claimedAt = 0) => ({ type, begun: false, claimedAt });
const works = (type: string, claimedAt = 0) => ({ type, begun: true, claimedAt });
const sick = pausedBy(noPauses, { type: A, why: 'no card', endedBy: 'outcome' }, 0, MIDDLE).pauses;

it.each([
  ['nothing is paused', noPauses, A, [waits(A), waits(A)], 0, 4],
  ['it is paused', own, A, [], 999, 0],
  ['another type is paused', own, B, [waits(A)], 999, 4],
  ['its trial has come', own, A, [], 1_000, 1],
  ['its trial is under way', own, A, [waits(A)], 1_000, 0],
  ['its trial has begun', own, A, [works(A)], 1_000, 1],
  ['its trial has come and others have not begun', own, A, [waits(B)], 1_000, 1],
  ['every type is paused', host, B, [], 999, 0],
  ['the trial of every type has come', host, B, [], 1_000, 1],
  ['the trial of every type is under way', host, B, [waits(A)], 1_000, 0],
  ['it is paused for its failures', sick, A, [], 1_999, 0],
  ['another type is paused for its failures', sick, B, [works(A, 2_000)], 2_000, 4],
  ['its trial after failures has come', sick, A, [], 2_000, 1],
  ['its trial after failures is claimed', sick, A, [waits(A, 2_000)], 2_001, 0],
  ['its trial after failures is at work', sick, A, [works(A, 2_000)], 9_000, 0],
  ['one from before its failures is still at work', sick, A, [works(A, 1_999)], 2_000, 1],
] as const)('when %s', (_, pauses, type, here, now, slots) => {
  expect(slotsFor(pauses, type, 4, here, now)).toBe(slots);
});

it('pauses the type itself too where no process can be started', () => {
  expect([...host.keys()]).toEqual([everyType, A]);
  // Another type had a warm host: that says nothing of the first one.
  const after = begunAgain(host, B, 1_000);
  expect(after.over).toEqual([everyType]);
  expect([...after.pauses.keys()]).toEqual([A]);
});

it('is over when a trial begins, and not by what began during the pause', () => {
  expect(begunAgain(own, A, 999)).toMatchObject({ over: [], pauses: own });
  const after = begunAgain(own, A, 1_000);
  expect(after).toMatchObject({ over: [A], pauses: noPauses });
  expect(fail(after.pauses, 2_000).pauses.get(A)).toMatchObject({ failures: 1, forMs: 1_000 });
});

it('tells when the next trial is due', () => {
  const both = fail(own, 500, B).pauses;
  expect([0, 999, 1_000, 1_499, 1_500].map((after) => nextTrial(both, after))).toEqual([
    1_000,
    1_000,
    1_500,
    1_500,
    Number.POSITIVE_INFINITY,
  ]);
});

it('is told in words and as data', () => {
  const named = (key: string) => ({ type: key.slice(0, -2), schemaVersion: 1 });
  const told = (pauses: Pauses, now: number) => pausedTypes(pauses, now, named);
  expect(told(noPauses, 0)).toEqual([]);
  expect(told(own, 400)).toEqual([
    { type: 'demo/a', schemaVersion: 1, forMs: 600, failures: 1, why: 'broken' },
  ]);
  expect(pauseInWords({ forMs: 8_000, failures: 1, why: 'broken' })).toBe(
    'is paused for 8 s: broken',
  );
  const twice = fail(own, 1_000).pauses;
  expect(told(twice, 3_000)).toMatchObject([{ forMs: 0, failures: 2 }]);
  expect(pauseInWords({ forMs: 0, failures: 2, why: 'broken' })).toBe(
    'is tried again with its next task (2 pauses in a row): broken',
  );
  expect(everyTypeInWords(own, 0)).toBeUndefined();
  // One reason, told once.
  expect(everyTypeInWords(host, 0)).toBe('every type is paused for 1 s: broken');
  expect(told(host, 0)).toEqual([]);
  expect(told(fail(host, 0, B, 'HANDLER_NOT_LOADED', 'typo').pauses, 0)).toMatchObject([
    { type: 'demo/b', why: 'typo' },
  ]);
});

describe('failures for reasons of this host (F56)', () => {
  const row = (...tasks: string[]) => {
    let rows: HostFailures = new Map();
    return tasks.map((task) => {
      const { rows: next, pause } = failedHere(rows, A, task);
      rows = next;
      return pause;
    });
  };

  it('pause the type from the third in a row on, and then begin anew', () => {
    expect(row('1', '2', '3', '4', '5', '6')).toEqual([false, false, true, false, false, true]);
    expect(row('1', '2', '1')).toEqual([false, false, true]);
  });

  it('pause nothing while they are all of one task', () => {
    expect(row('1', '1', '1', '1', '1')).toEqual(Array(5).fill(false));
    expect(row('1', '1', '1', '1', '2').at(-1)).toBe(true);
  });

  it('make pauses that double from two seconds to two minutes', () => {
    const lengths: number[] = [];
    let pauses = noPauses;
    for (let i = 0; i < 8; i++) {
      const now = pauses.get(A)?.until ?? 0;
      const trouble = { type: A, why: 'no card', endedBy: 'outcome' } as const;
      pauses = pausedBy(pauses, trouble, now, MIDDLE).pauses;
      lengths.push(pauses.get(A)?.forMs ?? 0);
    }
    expect(lengths).toEqual([2, 4, 8, 16, 32, 64, 120, 120].map((s) => s * 1_000));
  });

  it('are not made good by a beginning, only by an end, whenever it was claimed', () => {
    expect(begunAgain(sick, A, 5_000)).toMatchObject({ over: [], pauses: sick });
    expect(endedWell(sick, A)).toMatchObject({ over: [A], pauses: noPauses });
    expect(endedWell(sick, B)).toMatchObject({ over: [] });
    // That one could not be started is not mended by an older one that ends.
    expect(endedWell(own, A)).toMatchObject({ over: [], pauses: own });
  });
});
