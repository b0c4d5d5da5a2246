import { expect, it } from 'vitest';
import {
  begunAgain,
  everyType,
  nextTrial,
  noPauses,
  type Pauses,
  pausedBy,
  pausesInWords,
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

it.each([
  ['nothing is paused', noPauses, A, [A, A], 0, 4],
  ['it is paused', own, A, [], 999, 0],
  ['another type is paused', own, B, [A], 999, 4],
  ['its trial has come', own, A, [], 1_000, 1],
  ['its trial is under way', own, A, [A], 1_000, 0],
  ['its trial has come and others have not begun', own, A, [B], 1_000, 1],
  ['every type is paused', host, B, [], 999, 0],
  ['the trial of every type has come', host, B, [], 1_000, 1],
  ['the trial of every type is under way', host, B, [A], 1_000, 0],
] as const)('when %s', (_, pauses, type, unbegun, now, slots) => {
  expect(slotsFor(pauses, type, 4, unbegun, now)).toBe(slots);
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

it('is told in words', () => {
  expect(pausesInWords(noPauses, 0)).toBeUndefined();
  expect(pausesInWords(own, 0)).toBe(
    'demo/a@1 is paused for 1 s: its handler could not be started: broken',
  );
  const twice = fail(own, 1_000).pauses;
  expect(pausesInWords(twice, 3_000)).toBe(
    'demo/a@1 is tried again with its next task: its handler could not be started (2 times in a row): broken',
  );
  expect(pausesInWords(host, 0)).toBe(
    'every type is paused for 1 s: no handler could be started: broken',
  );
  expect(pausesInWords(fail(host, 0, B, 'HANDLER_NOT_LOADED', 'typo').pauses, 0)).toBe(
    'every type is paused for 1 s: no handler could be started: broken; demo/b@1 is paused for 1 s: its handler could not be started: typo',
  );
});
