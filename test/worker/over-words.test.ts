import { expect, it } from 'vitest';
import { reportedAttempt } from '../../src/core/attempt.ts';
import { overInWords } from '../../src/worker/held.ts';

const four = { taskId: 'tsk_1', attemptId: 'att_1', fence: 1, leaseToken: 't' };
type Given = Parameters<typeof reportedAttempt>[1];
const over = (phase: 'acknowledged' | 'lost' | 'stale' | 'released', report: object) => {
  const state = reportedAttempt(four, { ...four, ...report } as Given);
  const { level, says } = overInWords({ ...state, phase }, four.taskId);
  return `${level} ${says}`;
};
const error = { code: 'INPUT_INVALID', message: 'm', retryable: false };

it('a log line tells a success from a failure, and what needs a look is a warning', () => {
  expect(over('acknowledged', { op: 'complete', result: 1 })).toBe(
    'info has succeeded, acknowledged.',
  );
  expect(over('acknowledged', { op: 'fail', error })).toBe(
    'warn has failed (INPUT_INVALID), acknowledged. Why: interlock tasks show tsk_1',
  );
  expect(
    over('acknowledged', { op: 'unknown', error: { ...error, code: 'OUTCOME_UNKNOWN' } }),
  ).toBe(
    'warn has ended with unknown outcome (OUTCOME_UNKNOWN), acknowledged. Why: interlock tasks show tsk_1',
  );
  expect(over('acknowledged', { op: 'cancelled' })).toBe('info was cancelled, acknowledged.');
  const lost = (reason: string) => ({ op: 'lost', reason, begun: true, message: 'It went.' });
  expect(over('lost', lost('timeout'))).toBe('warn is lost (timeout). It went.');
  expect(over('lost', lost('drain'))).toBe('info is lost (drain). It went.');
  expect(over('released', { op: 'release', reason: 'drain' })).toBe('info is released.');
  expect(over('stale', { op: 'complete', result: 1 })).toBe('info is stale.');
});
