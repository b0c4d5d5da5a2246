import { expect, it } from 'vitest';
import type { TaskEvent } from '../../src/contract/index.ts';
import { type AttemptSpan, openAttempt, timeline } from '../../src/core/attempt-timeline.ts';

/** The journal as attempts. */

const at = (second: number) => new Date(second * 1_000).toISOString();
let seq = 0;
const entry = (
  second: number,
  kind: string,
  fence?: number,
  data = {},
  by = 'worker:w1',
): TaskEvent => ({
  seq: ++seq,
  at: at(second),
  kind,
  by,
  data,
  ...(fence !== undefined && { attemptId: `att_${fence}`, fence }),
});
const claim = { workerId: 'w1', attempt: 1, effectSafety: 'non-idempotent', effectGate: 'effect' };
const spans = (events: TaskEvent[], nowMs = 100_000) =>
  timeline(events, nowMs, (text) => text).filter(
    (item): item is AttemptSpan => item.kind === 'attempt',
  );

it('gathers the entries of an attempt, with how long each phase took', () => {
  const items = timeline(
    [
      entry(0, 'submitted', undefined, {}, 'key:k'),
      entry(2, 'leased', 1, claim),
      entry(3, 'started', 1, { codeHash: 'f'.repeat(64) }),
      entry(10, 'lost', 1, { reason: 'lease', leaseRanOutAt: at(9) }, 'sweeper'),
      entry(10, 'requeued', 1, { availableAt: at(20) }, 'sweeper'),
      entry(26, 'leased', 2, { ...claim, attempt: 2, workerId: 'w2' }, 'worker:w2'),
      entry(27, 'effect-begun', 2, {}, 'worker:w2'),
    ],
    40_000,
    (text) => text,
  );
  expect(items.map(({ kind }) => kind)).toEqual(['entry', 'attempt', 'attempt']);
  expect(items[1]).toMatchObject({
    number: 1,
    workerId: 'w1',
    state: 'lost',
    why: `no word came before its lease ran out at ${at(9)}`,
    waitedMs: 2_000,
    beganMs: 1_000,
    ranMs: 7_000,
    gatePassed: false,
    againAt: at(20),
  });
  // From when it could be claimed again.
  expect(items[2]).toMatchObject({
    workerId: 'w2',
    state: 'leased',
    waitedMs: 6_000,
    gatePassed: true,
  });
  expect(openAttempt(items)).toBe(items[2]);
});

it('knows the gate from the entries while an attempt runs, and from the end after it', () => {
  const gate = (more: object, ...events: TaskEvent[]) =>
    spans([entry(0, 'leased', 1, { ...claim, ...more }), ...events])[0]?.gatePassed;
  expect(gate({})).toBe(false);
  expect(gate({ effectGate: 'start' }, entry(1, 'started', 1))).toBe(true);
  expect(gate({ effectSafety: 'pure', effectGate: 'start' }, entry(1, 'started', 1))).toBe(false);
  expect(gate({}, entry(1, 'failed', 1, { gatePassed: true, code: 'X' }))).toBe(true);
});

it('tells where a handler was never called, and takes a loss that had not begun for none', () => {
  const told = (kind: string, data: object) =>
    spans([entry(0, 'leased', 1, claim), entry(1, kind, 1, data)])[0]?.notCalled;
  expect(told('failed', { code: 'INPUT_INVALID', begun: false })).toBe(true);
  expect(told('failed', { code: 'INPUT_INVALID' })).toBeUndefined();
  expect(told('lost', { reason: 'drain', begun: false })).toBeUndefined();
});

it('keeps what people did apart, and a late report with its attempt', () => {
  const items = timeline(
    [
      entry(0, 'leased', 1, claim),
      entry(1, 'cancel-requested', undefined, { reason: 'no need' }, 'key:k'),
      entry(2, 'lost', 1, { reason: 'host-died', message: 'It was killed.' }),
      entry(2, 'cancelled', 1, { status: 'cancelled' }),
      entry(3, 'late-report', 1, { op: 'complete' }),
      entry(4, 'retried', undefined, { reason: 'again' }, 'key:k'),
    ],
    0,
    (text) => text,
  );
  expect(items.map((item) => (item.kind === 'entry' ? item.event.kind : item.state))).toEqual([
    'lost',
    'cancel-requested',
    'retried',
  ]);
  expect(items[0]).toMatchObject({ why: 'It was killed.', late: { op: 'complete', at: at(3) } });
});

it('makes the best of a journal that begins in the middle, or has no instants', () => {
  const [span] = spans([
    entry(5, 'failed', 7, { code: 'BROKE', message: 'm' }),
    entry(5, 'requeued', 7),
  ]);
  expect(span).toMatchObject({ fence: 7, workerId: 'w1', state: 'failed', why: 'BROKE: m' });
  expect(span).not.toHaveProperty('ranMs');
  const odd = { ...entry(0, 'leased', 1, claim), at: 'never' };
  expect(spans([odd])[0]).not.toHaveProperty('waitedMs');
});
