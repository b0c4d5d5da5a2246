import { describe, expect, it } from 'vitest';
import { replay } from '../../sim/replay.ts';
import { journal, leased, task } from './words.ts';

const begun = [['submitted'], leased, ['started']] as const;
const lost = { data: { reason: 'lease', begun: true, status: 'outcome-unknown' } };

describe('the replay of a journal', () => {
  it('finds nothing in one that follows the rules', () => {
    const events = journal(...begun, ['succeeded', { data: { status: 'succeeded' } }]);
    const told = replay(task(events, { status: 'succeeded', attempts: 1 }));
    expect(told).toEqual({ journal: [], table: [] });
  });

  it('finds a gap in the numbers', () => {
    const events = journal(...begun, ['succeeded', { seq: 5, data: { status: 'succeeded' } }]);
    const told = replay(task(events, { status: 'succeeded', attempts: 1 }));
    expect(told.journal).toEqual([expect.stringContaining('is number 4 in the journal')]);
  });

  it('finds an entry of an older attempt', () => {
    const events = journal(
      ['submitted'],
      leased,
      ['lost', { data: { reason: 'lease', status: 'queued' } }],
      ['requeued'],
      ['leased', { attemptId: 'att_2', fence: 2, data: leased[1].data ?? {} }],
      ['succeeded', { data: { status: 'succeeded' } }],
    );
    const told = replay(task(events, { status: 'succeeded', attempts: 1, undelivered: 1 }));
    expect(told.journal).toEqual([expect.stringContaining('the latest is att_2 fence 2')]);
  });

  it('finds a fence that did not grow by one', () => {
    const events = journal(['submitted'], ['leased', { ...leased[1], fence: 3 }]);
    const told = replay(task(events, { status: 'running' }));
    expect(told.journal).toEqual([expect.stringContaining('fence 3 after 0')]);
  });

  it('finds a second attempt while one runs', () => {
    const events = journal(...begun, ['leased', { ...leased[1], attemptId: 'att_2', fence: 2 }]);
    const told = replay(task(events, { status: 'running', attempts: 1 }));
    expect(told.journal).toEqual([expect.stringContaining('while the task is running')]);
  });

  it('finds what was lost past its gate and queued again', () => {
    const events = journal(
      ...begun,
      ['lost', { data: { ...lost.data, status: 'queued' } }],
      ['requeued'],
    );
    const told = replay(task(events, { status: 'queued', attempts: 1 }));
    expect(told.table).toEqual([
      expect.stringContaining(
        'past its gate, lost lease is queued; the table says outcome-unknown',
      ),
    ]);
  });

  it('finds an unknown outcome that nobody needs to look at', () => {
    const events = journal(['submitted'], leased, ['lost', lost]);
    const told = replay(task(events, { status: 'outcome-unknown', attempts: 1 }));
    expect(told.table).toEqual([expect.stringContaining('the table says queued')]);
  });

  it('finds a release that was counted', () => {
    const events = journal(
      ['submitted'],
      leased,
      ['released', { data: { reason: 'drain', status: 'queued' } }],
      ['requeued'],
    );
    expect(replay(task(events, { undelivered: 1 })).journal).toEqual([]);
    const told = replay(task(events, { attempts: 1 }));
    expect(told.journal).toEqual([expect.stringContaining('its journal makes it')]);
  });

  it('finds a release past the gate', () => {
    const events = journal(...begun, ['released', { data: { status: 'queued' } }], ['requeued']);
    const told = replay(task(events, { undelivered: 1 }));
    expect(told.table).toEqual([expect.stringContaining('the table says not releasable')]);
  });

  it('finds a status that a late report changed', () => {
    const events = journal(...begun, ['lost', lost], ['late-report', { data: { op: 'complete' } }]);
    const told = replay(task(events, { status: 'succeeded', attempts: 1 }));
    expect(told.journal).toEqual([expect.stringContaining('"status":"outcome-unknown"')]);
  });

  it('finds a repeat beyond the permitted attempts', () => {
    const retryable = { data: { retryable: true, status: 'queued' } };
    const pure = { effectSafety: 'pure', effectGate: 'start' };
    const events = journal(['submitted'], ['leased', { data: pure }], ['failed', retryable]);
    const policy = { maxAttempts: 1, lostGraceMs: 0 };
    const told = replay(task(events, { attempts: 1, policy }));
    expect(told.table).toEqual([expect.stringContaining('the table says failed')]);
  });

  it('finds a retry of a cancelled task that is not queued', () => {
    const events = journal(
      ['submitted'],
      ['cancelled', { data: { status: 'cancelled' } }],
      ['retried', { data: { attempts: 1, status: 'queued' } }],
    ).map((event) => ({ ...event, attemptId: undefined, fence: undefined }));
    expect(replay(task(events as never)).journal).toEqual([]);
    const told = replay(task(events as never, { status: 'cancelled' }));
    expect(told.journal).toEqual([expect.stringContaining('its journal makes it')]);
  });

  it('finds an entry of a kind that nobody knows', () => {
    const told = replay(task(journal(['submitted'], ['forgotten'])));
    expect(told.journal.join()).toContain('nobody knows this kind');
  });
});
