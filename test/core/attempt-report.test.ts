import { describe, expect, it } from 'vitest';
import { report as reportSchema } from '../../src/contract/index.ts';
import { bounds } from '../../src/contract/limits.ts';
import { lostAfterRestart, renews, reportedAttempt } from '../../src/core/attempt.ts';
import { type EndFacts, reportOfEnd, timeLimit } from '../../src/core/attempt-report.ts';
import type { JobEnd } from '../../src/ports/carrier.ts';
import { claimed, having, identity } from './attempt-words.ts';

const facts: EndFacts = { begun: true, pastGate: false };
const told = (end: JobEnd, more: Partial<EndFacts> = {}) => {
  const report = reportOfEnd(identity, end, { ...facts, ...more });
  // Whatever happened, the control plane must be able to take it.
  expect(reportSchema.safeParse(JSON.parse(JSON.stringify(report))).error).toBeUndefined();
  return report;
};
const failed = (error: Partial<Extract<JobEnd, { how: 'threw' }>['error']>) => {
  const report = told({
    how: 'threw',
    error: { code: 'X', message: 'm', retryable: false, ...error },
  });
  if (report.op !== 'fail') throw new Error(`fail was expected, not ${report.op}`);
  return report.error;
};

describe('the report of an end', () => {
  it('carries the four fields and what the handler returned', () => {
    expect(told({ how: 'returned', result: { a: [1] } })).toEqual({
      op: 'complete',
      ...identity,
      result: { a: [1] },
    });
    expect(told({ how: 'returned', result: undefined })).toMatchObject({ result: null });
  });

  it('tells how a host went away', () => {
    expect(told({ how: 'died', exitCode: 0 })).toMatchObject({
      op: 'lost',
      reason: 'host-died',
      begun: true,
      message: "The handler's process ended by itself with exit code 0.",
      details: { exitCode: 0 },
    });
    expect(
      told({ how: 'died', signal: 'SIGKILL', outOfMemory: true, detail: 'x'.repeat(9_999) }),
    ).toMatchObject({
      message: "The handler's process was ended by SIGKILL, out of memory.",
      details: { signal: 'SIGKILL', outOfMemory: true, stderr: expect.stringMatching(/^x.*cut/) },
    });
    const why = 'It shared a process with task tsk_1, which called process.exit(3).';
    expect(told({ how: 'died', exitCode: 3, why })).toMatchObject({ message: why });
    expect(told({ how: 'died' }, { stop: 'drain' })).toMatchObject({ reason: 'drain' });
  });

  it('names the limit of one that was out of time, and only then', () => {
    const limit = timeLimit(4_000, 60_000);
    const message =
      'It was stopped at its time limit of 4 s (timeoutMs of the handler). Give it more time there, or less to do.';
    expect(told({ how: 'killed' }, { stop: 'timeout', limit })).toMatchObject({
      killed: true,
      message:
        'It did not stop when it was told to at its time limit of 4 s (timeoutMs of the handler), and had to be killed. Let it heed ctx.signal (a loop can only if it gives way with an await), and give it more time there, or less to do.',
    });
    expect(told({ how: 'stopped' }, { stop: 'timeout', limit })).toMatchObject({ message });
    expect(told({ how: 'killed' }, { stop: 'drain', limit })).not.toHaveProperty('message');
    expect(timeLimit(undefined, 5)).toEqual({ ms: 5, of: 'policy' });
    expect(timeLimit(9, 5)).toEqual({ ms: 5, of: 'policy' });
    expect(timeLimit(9, null)).toEqual({ ms: 9, of: 'handler' });
    expect(timeLimit(undefined, null)).toBeUndefined();
  });

  it('says why nothing began when it gives the attempt back', () => {
    const error = { code: 'HOST_FAILED', message: 'No host.', retryable: true };
    expect(told({ how: 'not-begun', error }, { begun: false })).toEqual({
      op: 'release',
      ...identity,
      reason: 'host-unavailable',
      message: 'No host.',
    });
    expect(told({ how: 'not-begun', error }, { begun: false, pastGate: true })).toMatchObject({
      op: 'fail',
      error,
    });
  });

  it('says that the handler was never called where its host knows it, and of nothing else', () => {
    const error = { code: 'INPUT_INVALID', message: 'amount is no number.', retryable: false };
    const uncalled = { op: 'fail', begun: false };
    expect(told({ how: 'threw', error, begun: false })).toMatchObject(uncalled);
    expect(told({ how: 'threw', error, begun: false }, { stop: 'cancel' })).toMatchObject(uncalled);
    const past = { pastGate: true };
    expect(told({ how: 'not-begun', error }, { ...past, begun: false })).toMatchObject(uncalled);
    const others: JobEnd[] = [
      { how: 'threw', error },
      { how: 'unknown', error },
      { how: 'not-begun', error },
      { how: 'returned', result: 1 },
    ];
    for (const end of others) expect(told(end, past)).not.toHaveProperty('begun');
    for (const how of ['stopped', 'killed', 'died'] as const)
      expect(told({ how }, past)).toMatchObject({ op: 'lost', begun: true });
  });

  it('keeps the reason why nothing began on its way to the control plane', () => {
    const state = having(claimed('pure'), 'slot granted', 'never began');
    expect(state.report).toMatchObject({ op: 'release', message: 'No host could be started.' });
  });
});

describe('what a handler throws', () => {
  it('is cut to a bound before it is spooled', () => {
    expect(failed({ message: 'x'.repeat(5_000_000) }).message).toHaveLength(bounds.messageChars);
    expect(failed({ message: 'a\ud800' }).message).toBe('a\ufffd');
  });

  it.each(['', 'lower', 'A-B', 'A B', '1A', `A${'B'.repeat(100)}`, 'Ä'])(
    'gets a code that can be sent instead of %j',
    (code) => {
      expect(failed({ code }).code).toBe('HANDLER_ERROR');
    },
  );

  it('keeps a good code and its wish for a delay', () => {
    expect(failed({ code: 'E_1', retryable: true, retryAfterMs: 1.6 })).toMatchObject({
      code: 'E_1',
      retryAfterMs: 2,
    });
    expect(failed({ retryAfterMs: -5 }).retryAfterMs).toBe(0);
    expect(failed({ retryAfterMs: Number.POSITIVE_INFINITY }).retryAfterMs).toBe(bounds.durationMs);
    expect(failed({ retryAfterMs: Number.NaN })).not.toHaveProperty('retryAfterMs');
  });

  it('loses details that the control plane would refuse, never the report', () => {
    expect(failed({ details: { a: { b: 'c\ud800' } } }).details).toEqual({ a: { b: 'c\ufffd' } });
    expect(failed({ details: { text: 'ä'.repeat(bounds.detailsBytes / 2 + 1) } }).details).toEqual({
      note: expect.stringContaining('left out'),
    });
    expect(failed({ details: { id: 2 ** 60 } }).details).toEqual({
      note: expect.stringContaining('id is'),
    });
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(failed({ details: cycle }).details).toEqual({ note: expect.stringContaining('cycle') });
  });
});

describe('a lease', () => {
  it('is renewed from the claim until the terminal report is answered', () => {
    const ended = having(claimed('pure'), 'slot granted', 'begun', 'returned');
    for (const state of [
      claimed('pure'),
      having(claimed('start gate'), 'slot granted'),
      ended,
      having(ended, 'written'),
      having(claimed('pure'), 'drain'),
    ])
      expect(renews(state), state.phase).toBe(true);
    expect(renews(having(ended, 'written', 'answered: done'))).toBe(false);
  });

  it('is renewed while a lost waits for the disk, not once it is spooled', () => {
    const lost = having(claimed('pure'), 'slot granted', 'begun', 'died');
    expect(renews(lost)).toBe(true);
    expect(renews(having(lost, 'not written'))).toBe(true);
    expect(renews(having(lost, 'written'))).toBe(false);
  });

  it('is not renewed for a handler that cannot be killed, nor after STALE_ATTEMPT', () => {
    const running = having(claimed('pure'), 'slot granted', 'begun');
    expect(renews(having(running, 'timeout', 'stuck'))).toBe(false);
    expect(renews(having(running, 'stale'))).toBe(false);
  });

  it('is renewed for a report that a restarted worker found, but for a lost', () => {
    expect(renews(reportedAttempt(identity, { op: 'complete', ...identity, result: 1 }))).toBe(
      true,
    );
    expect(renews(reportedAttempt(identity, lostAfterRestart(identity, true)))).toBe(false);
  });
});

it('tells what a restarted worker found running', () => {
  expect(lostAfterRestart(identity, true)).toEqual({
    op: 'lost',
    ...identity,
    reason: 'worker-restarted',
    begun: true,
  });
});
