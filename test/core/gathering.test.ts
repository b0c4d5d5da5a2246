import { describe, expect, it } from 'vitest';
import { afterBatch, goNow } from '../../src/core/gathering.ts';
import { submitDefaults } from '../../src/core/submit-defaults.ts';

const { batchCalls, batchForOneMoreCall: more, gatherMs } = submitDefaults;

describe('submissions that wait', () => {
  it.each([
    ['nobody waits', 0, 0, false],
    ['nothing is under way', 1, 0, true],
    ['a call is under way', 1, 1, false],
    ['a call is under way, and enough for another one wait', more, 1, true],
    ['two are under way, and enough for one more only', more, 2, false],
    ['two are under way, and enough for each of them', 2 * more, 2, true],
    ['as many calls as there may be are under way', 1_000, batchCalls, false],
  ])('where %s', (_, waiting, calls, goes) => {
    expect(goNow({ waiting, calls, lastCallAt: 100 }, 100)).toBe(goes);
  });

  it('go behind a slow answer after a moment', () => {
    const facts = { waiting: 1, calls: 1, lastCallAt: 100 };
    expect(goNow(facts, 100 + gatherMs - 1)).toBe(false);
    expect(goNow(facts, 100 + gatherMs)).toBe(true);
    expect(goNow({ ...facts, calls: batchCalls }, 100 + gatherMs)).toBe(false);
  });
});

describe('a batch call', () => {
  it('that is answered has an answer for each', () => {
    expect(afterBatch({ kind: 'ok' })).toBe('items');
  });

  it.each([401, 403, 408, 425, 426, 429])('refused with %i: each is', (status) => {
    expect(afterBatch({ kind: 'refused', status })).toBe('each');
  });

  it.each([500, 502, 503])('refused with %i: each is, and asks again alone', (status) => {
    expect(afterBatch({ kind: 'refused', status })).toBe('each-alone');
  });

  it.each([400, 404, 405, 409, 413, 415, 422])('refused with %i: each goes singly', (status) => {
    expect(afterBatch({ kind: 'refused', status })).toBe('singly');
  });

  it.each(['dns', 'connect', 'tls', 'proxy', 'timeout', 'cut'] as const)(
    'without an answer (%s): each has none, and asks again alone',
    (cause) => {
      expect(afterBatch({ kind: 'no-answer', cause })).toBe('each-alone');
    },
  );

  const strange = { kind: 'no-answer', cause: 'not-the-contract' } as const;

  it('with an answer that nobody understands: each goes singly', () => {
    expect(afterBatch(strange)).toBe('singly');
    for (const cause of ['redirect', 'too-large'] as const)
      expect(afterBatch({ kind: 'no-answer', cause })).toBe('singly');
    for (const status of [401, 403, 404, 405, 418])
      expect(afterBatch({ ...strange, status })).toBe('singly');
  });

  it('with a page of a proxy that is busy, or has nobody behind it: each waits', () => {
    for (const status of [408, 425, 429])
      expect(afterBatch({ ...strange, status, retryAfterMs: 1 })).toBe('each');
    for (const status of [500, 502, 503, 504])
      expect(afterBatch({ ...strange, status })).toBe('each-alone');
    expect(afterBatch({ ...strange, status: 404, retryAfterMs: 0 })).toBe('each-alone');
  });
});
