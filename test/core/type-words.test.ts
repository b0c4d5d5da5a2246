import { describe, expect, it } from 'vitest';
import type { WorkerView } from '../../src/contract/index.ts';
import { typeKey } from '../../src/contract/type-key.ts';
import {
  type Around,
  nearMiss,
  servedOf,
  servingByType,
  shareWords,
  type TypeView,
  typeNotes,
  withNearMiss,
} from '../../src/core/type-words.ts';
import { notServedByType } from '../../src/core/waiting-for.ts';

const type = (more: Partial<TypeView> = {}): TypeView => ({
  type: 'demo/hello',
  schemaVersion: 1,
  pools: ['default'],
  queued: 0,
  running: 0,
  oldestQueuedMs: null,
  workers: [],
  slots: 0,
  effectSafety: [],
  ...more,
});
const worker = (workerId: string, more: Partial<WorkerView> = {}): WorkerView => ({
  workerId,
  state: 'ready',
  words: 'ready',
  slots: { max: 2, busy: 0 },
  pools: ['default'],
  handlers: [{ type: 'demo/hello', schemaVersion: 1, effectSafety: 'pure', effectGate: 'start' }],
  versions: {},
  spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
  lastSeenAt: '2026-01-01T00:00:00.000Z',
  ...more,
});
const around = { groups: [], recent: undefined, span: 'hour' };
const told = (view: TypeView, workers: WorkerView[], more: Partial<Around> = {}) =>
  typeNotes(view, {
    ...around,
    serving: servingByType(workers).get(typeKey(view.type, view.schemaVersion)) ?? [],
    ...more,
  }).map(({ kind, weight, says }) => [kind, weight, says]);

describe('what is said of a type', () => {
  it('is nothing where it is served and nothing is odd', () => {
    expect(told(type(), [worker('a')])).toEqual([]);
    expect(told(type(), [])).toEqual([]);
  });

  it('is that nobody serves what waits, with what comes near', () => {
    const says = '2 tasks wait and no worker that is online serves demo/hello@1';
    const view = type({ queued: 2 });
    expect(told(view, [worker('a', { state: 'offline' })])).toEqual([['nobody', 'act', says]]);
    const notes = typeNotes(view, { ...around, serving: [] });
    const other = type({ type: 'demo/Hello', workers: ['a'] });
    expect(withNearMiss(view, notes, servedOf([other]))).toMatchObject([
      { says: `${says}; served in another case: demo/Hello@1` },
    ]);
    expect(withNearMiss(view, notes, servedOf([]))).toBe(notes);
  });

  it('is the reason of the worker that has a file for it and cannot serve it, and no start of another one', () => {
    const why = 'demo/hello@1.mjs: it was not loaded within 10 s, which is the limit.';
    const file = { file: 'demo/hello@1.mjs', type: 'demo/hello', schemaVersion: 1, why, since: '' };
    const garage = worker('garage', { handlers: [], unservedHandlers: [file] });
    const broken = notServedByType([garage]).get('demo/hello@1');
    const [note] = typeNotes(type({ queued: 1 }), { ...around, serving: [], broken });
    expect(note).toMatchObject({
      says: `1 task waits and no worker that is online serves demo/hello@1: garage does not serve it: ${why}`,
      next: 'Do what is said there, or cancel what waits.',
    });
    expect(withNearMiss(type(), note ? [note] : [], servedOf([type({ workers: ['a'] })]))).toEqual([
      note,
    ]);
    expect(notServedByType([{ ...garage, state: 'offline' }]).size).toBe(0);
  });

  it('is that what waits lies in a pool for which none of its workers works', () => {
    const group = { pool: 'gpu', type: 'demo/hello', schemaVersion: 1, queued: 2, running: 0 };
    const groups = [group, { ...group, pool: 'default' }, { ...group, type: 'demo/other' }];
    expect(told(type({ queued: 4 }), [worker('a')], { groups })).toEqual([
      [
        'other-pool',
        'act',
        '2 tasks wait in pool gpu, for which none of its workers works; they work for default',
      ],
    ]);
  });

  it('names three of many such pools', () => {
    const groups = Array.from({ length: 1_500 }, (_, i) => ({
      pool: `p${i}`,
      type: 'demo/hello',
      schemaVersion: 1,
      queued: 2,
      running: 0,
    }));
    const notes = told(type({ queued: 3_000 }), [worker('a')], { groups });
    expect(notes).toHaveLength(4);
    expect(notes[3]?.[2]).toBe(
      '2994 tasks wait in 1497 other pools, for which none of its workers works',
    );
  });

  it('is why none of its workers claims it', () => {
    const stuck = worker('a', { notClaiming: 'the disk is full' });
    const paused = worker('b', {
      pausedTypes: [
        { type: 'demo/hello', schemaVersion: 1, why: 'no memory', forMs: 9_000, failures: 1 },
      ],
    });
    expect(told(type({ queued: 1 }), [stuck, paused])).toEqual([
      [
        'not-claiming',
        'act',
        'none of its 2 workers claims it: a claims nothing: the disk is full',
      ],
    ]);
    expect(told(type(), [paused])).toEqual([
      [
        'not-claiming',
        'look',
        'the worker that serves it does not claim it: b is paused for 9 s: no memory',
      ],
    ]);
    expect(told(type({ queued: 1 }), [stuck, worker('c')])).toEqual([]);
  });

  it('is that workers declare different effect safety, and who does', () => {
    const careful = ['b', 'c', 'd', 'e'].map((id) =>
      worker(id, {
        handlers: [
          {
            type: 'demo/hello',
            schemaVersion: 1,
            effectSafety: 'non-idempotent',
            effectGate: 'effect',
          },
        ],
      }),
    );
    expect(told(type(), [worker('a'), ...careful])).toEqual([
      [
        'disagree',
        'look',
        'its workers disagree about its effect safety: pure (a), non-idempotent with the gate "effect" (b, c, d and 1 more)',
      ],
    ]);
  });

  it('is a share of failures from some ended attempts on, and that all are full', () => {
    const past = { other: 0, waited: undefined, ran: undefined };
    const notes = (succeeded: number, failed: number) =>
      told(type(), [worker('a')], { recent: { ...past, succeeded, failed } }).map(
        ([, , says]) => says,
      );
    expect(notes(3, 2)).toEqual(['40 % of its attempts in the last hour failed']);
    expect(notes(2, 2)).toEqual([]);
    expect(notes(99, 2)).toEqual([]);
    expect(told(type({ queued: 1 }), [worker('a', { state: 'full' })])).toEqual([
      ['all-full', 'wait', 'its worker is full: what waits begins as tasks end'],
    ]);
  });
});

it('finds a name that comes near: another version, another case, a letter', () => {
  const known = [
    type({ schemaVersion: 2, workers: ['a'] }),
    type({ type: 'demo/Hello', workers: ['a'] }),
    type({ type: 'file/digest' }),
  ];
  expect(nearMiss(type(), servedOf(known))).toBe('another version is served: demo/hello@2');
  expect(nearMiss(type({ type: 'DEMO/hello' }), servedOf(known.slice(1)))).toBe(
    'served in another case: demo/Hello@1',
  );
  expect(nearMiss(type({ type: 'demo/helo' }), servedOf(known))).toBe(
    'served under a name like it: demo/hello@2',
  );
  expect(nearMiss(type({ type: 'file/digestt' }), servedOf(known))).toBeUndefined();
});

it('says shares in whole percent', () => {
  expect([0, 0.001, 0.125, 1].map(shareWords)).toEqual(['0 %', '<1 %', '13 %', '100 %']);
});
