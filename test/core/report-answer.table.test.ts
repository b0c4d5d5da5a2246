import { describe, expect, it } from 'vitest';
import type { Problem, TerminalReport } from '../../src/contract/index.ts';
import { type DecisionFacts, decideAnswer } from '../../src/core/report-answer.ts';
import { identity, reportInWords } from './attempt-words.ts';

/** Every answer to every terminal report (contract 5 "Answers to a terminal report"). */
const error = { code: 'BROKEN', message: 'A long story.', retryable: true, details: { a: 1 } };
const reports: Record<string, TerminalReport> = {
  complete: { op: 'complete', ...identity, result: { huge: true } },
  fail: { op: 'fail', ...identity, error },
  unknown: { op: 'unknown', ...identity, error },
  cancelled: { op: 'cancelled', ...identity, message: 'm', details: { a: 1 } },
  lost: {
    op: 'lost',
    ...identity,
    reason: 'timeout',
    begun: true,
    killed: true,
    message: 'm',
    details: { a: 1 },
  },
  release: { op: 'release', ...identity, reason: 'drain', message: 'm' },
};
const own: DecisionFacts = { project: 'default', followUp: false };

const problem = (status: number, code: string, more: Record<string, unknown> = {}): Problem => ({
  status,
  code,
  ...more,
});
const refused = (p: Problem) => ({ kind: 'refused' as const, status: p.status, problem: p });
const ok = (report: TerminalReport, more: Record<string, unknown> = {}) => ({
  kind: 'ok' as const,
  value: {
    accepted: true as const,
    attemptId: report.attemptId,
    fence: report.fence,
    op: report.op,
    ...more,
  },
});

/** The decision in words: `done`, `stale`, `stale recorded`, `refused → what follows`, `keep because`. */
function decided(
  report: TerminalReport,
  answer: Parameters<typeof decideAnswer>[1],
  facts = own,
): string {
  const decision = decideAnswer(report, answer, facts);
  switch (decision.kind) {
    case 'done':
      return 'done';
    case 'stale':
      return decision.recorded ? 'stale recorded' : 'stale';
    case 'refused':
      return decision.followUp ? `refused → ${reportInWords(decision.followUp)}` : 'refused';
    case 'keep':
      return `keep: ${decision.because}`;
  }
}

const every = (word: string) => Object.fromEntries(Object.keys(reports).map((op) => [op, word]));
const small = {
  complete: 'refused → fail RESULT_REFUSED',
  fail: 'refused → fail RESULT_REFUSED',
  unknown: 'refused → unknown',
  cancelled: 'refused → cancelled',
  lost: 'refused → lost timeout begun killed',
  release: 'refused → release drain',
};
const lostFollows = {
  complete: 'refused → lost lease begun',
  fail: 'refused → lost lease begun',
  unknown: 'refused → lost lease begun',
  cancelled: 'refused → lost cancel begun',
  // After a lost nothing follows.
  lost: 'refused',
  // Its handler never began.
  release: 'refused → lost drain unbegun',
};
const attemptGone = { kind: 'attempt', project: 'default' };

const table: [answer: string, problem: Problem, decisions: Record<string, string>][] = [
  ['409 STALE_ATTEMPT', problem(409, 'STALE_ATTEMPT'), every('stale')],
  [
    '409 STALE_ATTEMPT, recorded',
    problem(409, 'STALE_ATTEMPT', { recorded: true }),
    every('stale recorded'),
  ],
  [
    '409 LEASE_EXPIRED',
    problem(409, 'LEASE_EXPIRED'),
    { ...lostFollows, cancelled: 'stale', lost: 'stale', release: 'stale' },
  ],
  ['409 NOT_RELEASABLE', problem(409, 'NOT_RELEASABLE'), lostFollows],
  ['409 NOT_CANCELLING', problem(409, 'NOT_CANCELLING'), lostFollows],
  ['409 of the future', problem(409, 'SOMETHING_NEW'), lostFollows],
  ['400 INVALID_REQUEST', problem(400, 'INVALID_REQUEST'), small],
  ['413 PAYLOAD_TOO_LARGE', problem(413, 'PAYLOAD_TOO_LARGE'), small],
  ['422 FILE_MISSING', problem(422, 'FILE_MISSING'), small],
  ['404 of the attempt in our project', problem(404, 'NOT_FOUND', attemptGone), small],
  [
    '404 of the attempt in another project',
    problem(404, 'NOT_FOUND', { ...attemptGone, project: 'other' }),
    every('keep: key'),
  ],
  [
    '404 of something else',
    problem(404, 'NOT_FOUND', { kind: 'route', project: 'default' }),
    every('keep: key'),
  ],
  ['404 with another code', problem(404, 'GONE', attemptGone), every('keep: key')],
  ['401', problem(401, 'UNAUTHENTICATED'), every('keep: key')],
  ['403', problem(403, 'SCOPE_DENIED'), every('keep: key')],
  ['426', problem(426, 'CONTRACT_UNSUPPORTED'), every('keep: key')],
  ['400 UNSUPPORTED_OPERATION', problem(400, 'UNSUPPORTED_OPERATION'), every('keep: operation')],
  ...[408, 425, 429, 500, 502, 503, 504].map(
    (status): [string, Problem, Record<string, string>] => [
      `${status}`,
      problem(status, 'BUSY'),
      every('keep: busy'),
    ],
  ),
  // Anything else is no answer to the report: it stays.
  ...[402, 405, 410, 415, 418, 451].map((status): [string, Problem, Record<string, string>] => [
    `${status}`,
    problem(status, 'ODD'),
    every('keep: busy'),
  ]),
];

describe.each(table)('%s', (_, answer, decisions) => {
  it('means the same for a record as the contract says', () => {
    const were = Object.fromEntries(
      Object.entries(reports).map(([op, report]) => [op, decided(report, refused(answer))]),
    );
    expect(were).toEqual(decisions);
  });

  it('is followed by nothing when it answers what followed a refusal', () => {
    for (const [op, report] of Object.entries(reports)) {
      const word = decided(report, refused(answer), { ...own, followUp: true });
      expect(word, op).toBe((decisions[op] ?? '').replace(/ →.*/, ''));
    }
  });
});

describe('an accepting answer', () => {
  it('is done, also when replayed', () => {
    for (const report of Object.values(reports)) {
      expect(decided(report, ok(report))).toBe('done');
      expect(decided(report, ok(report, { replayed: true }))).toBe('done');
    }
  });

  it.each([{ attemptId: 'att_2' }, { fence: 4 }, { op: 'renew' }])(
    'is no answer when it is of %j',
    (other) => {
      for (const report of Object.values(reports))
        expect(decided(report, ok(report, other))).toBe('keep: no-answer');
    },
  );
});

it('keeps a record that got no answer', () => {
  for (const report of Object.values(reports))
    expect(decided(report, { kind: 'no-answer', why: 'cut' })).toBe('keep: no-answer');
});

it('keeps a record whose project was never learnt when the attempt is not found', () => {
  const answer = refused(problem(404, 'NOT_FOUND', attemptGone));
  expect(decided(reports.complete as TerminalReport, answer, { followUp: false })).toBe(
    'keep: key',
  );
});

describe('what follows a refusal', () => {
  it('says that the handler returned, and why its report was refused', () => {
    const decision = decideAnswer(
      reports.complete as TerminalReport,
      refused(problem(413, 'PAYLOAD_TOO_LARGE', { detail: 'result has 400002 bytes.' })),
      own,
    );
    expect(decision).toMatchObject({
      followUp: {
        op: 'fail',
        ...identity,
        error: { code: 'RESULT_REFUSED', retryable: false, details: { handlerReturned: true } },
      },
    });
    if (decision.kind !== 'refused' || decision.followUp?.op !== 'fail') throw new Error('no fail');
    expect(decision.followUp.error.message).toContain('for good: result has 400002 bytes. It');
  });

  it('says once more that the handler was never called', () => {
    const fail = { ...(reports.fail as TerminalReport), begun: false } as TerminalReport;
    const decision = decideAnswer(fail, refused(problem(400, 'INVALID_REQUEST')), own);
    const error = {
      message: expect.stringContaining('was not called'),
      details: { handlerReturned: false },
    };
    expect(decision).toMatchObject({ followUp: { op: 'fail', begun: false, error } });
  });

  it('has no message and no details', () => {
    for (const op of ['unknown', 'cancelled', 'lost', 'release']) {
      const decision = decideAnswer(
        reports[op] as TerminalReport,
        refused(problem(400, 'INVALID_REQUEST')),
        own,
      );
      expect(JSON.stringify(decision)).not.toMatch(/"m"|details|story/);
    }
  });

  it('does not count an attempt whose handler never began', () => {
    const answer = refused(problem(409, 'NOT_CANCELLING'));
    const cancelled = reports.cancelled as TerminalReport;
    expect(decided(cancelled, answer, { ...own, begun: false })).toBe(
      'refused → lost cancel unbegun',
    );
    expect(decided(cancelled, answer, { ...own, begun: true })).toBe('refused → lost cancel begun');
  });

  it('is free of charge for the task only after a drain', () => {
    const answer = refused(problem(409, 'NOT_RELEASABLE'));
    const release = (reason: string): TerminalReport => ({ op: 'release', ...identity, reason });
    expect(decided(release('lease'), answer)).toBe('refused → lost lease unbegun');
    expect(decided(release('host-unavailable'), answer)).toBe('refused → lost host-died unbegun');
    expect(decided(release('drain'), answer)).toBe('refused → lost drain unbegun');
  });
});
