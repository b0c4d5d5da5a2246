import { describe, expect, it } from 'vitest';
import { cutText, TaskError, taskErrorCodes } from '../../src/contract/errors.ts';
import { makeProblem, problem, problemCodes } from '../../src/contract/problems.ts';

describe('problems', () => {
  it('has the codes and statuses of the contract', () => {
    const statuses = Object.fromEntries(
      Object.entries(problemCodes).map(([code, { status }]) => [code, status]),
    );
    expect(statuses).toEqual({
      INVALID_REQUEST: 400,
      UNSUPPORTED_OPERATION: 400,
      UNAUTHENTICATED: 401,
      SCOPE_DENIED: 403,
      NOT_FOUND: 404,
      STALE_ATTEMPT: 409,
      LEASE_EXPIRED: 409,
      SESSION_SUPERSEDED: 409,
      IDEMPOTENCY_CONFLICT: 409,
      TASK_TERMINAL: 409,
      NOT_RELEASABLE: 409,
      NOT_CANCELLING: 409,
      CONFLICT: 409,
      PAYLOAD_TOO_LARGE: 413,
      UNSUPPORTED_MEDIA_TYPE: 415,
      FILE_MISSING: 422,
      CONTRACT_UNSUPPORTED: 426,
      RATE_LIMITED: 429,
      INTERNAL: 500,
      UNAVAILABLE: 503,
      NO_ELIGIBLE_INFERENCE_WORKER: 503,
    });
  });

  it('has the task error codes of the contract', () => {
    expect(Object.keys(taskErrorCodes).sort()).toEqual([
      'ATTEMPTS_EXHAUSTED',
      'DEADLINE_PASSED',
      'FILE_MISMATCH',
      'FLOW_CHANGED',
      'HANDLER_ERROR',
      'HOST_UNHEALTHY',
      'INPUT_INVALID',
      'OUTCOME_UNKNOWN',
      'QUEUE_TIMEOUT',
      'RESOLVED_FAILED',
      'RESULT_INVALID',
      'RESULT_REFUSED',
      'UNDELIVERABLE',
    ]);
  });

  it('points to the failure catalogue, says what happened and what to do', () => {
    const made = makeProblem('NOT_FOUND', 'There is no attempt att_1 in project default.', {
      kind: 'attempt',
      project: 'default',
    });
    expect(made).toMatchObject({
      type: '/failures#NOT_FOUND',
      title: problemCodes.NOT_FOUND.title,
      status: 404,
      code: 'NOT_FOUND',
      detail: 'There is no attempt att_1 in project default.',
      kind: 'attempt',
      project: 'default',
    });
    expect(made.hint).toMatch(/\.$/);
    expect(problem.parse(made)).toEqual(made);
  });

  it('reads a code and members that it does not know', () => {
    const unknown = { status: 409, code: 'SOMETHING_NEW', colour: 'red' };
    expect(problem.parse(unknown)).toEqual(unknown);
  });

  it.each([
    {},
    { status: 404 },
    { code: 'NOT_FOUND' },
    { status: 200, code: 'OK' },
    { status: 404, code: 'not found' },
    { error: { message: 'no' } },
    'Not Found',
    null,
  ])('does not take %j for a problem', (body) => {
    expect(problem.safeParse(body).success).toBe(false);
  });

  it('says the next step for every code', () => {
    for (const table of [problemCodes, taskErrorCodes])
      for (const [code, { title, next }] of Object.entries(table)) {
        expect(title, code).not.toMatch(/\.$/);
        expect(next, code).toMatch(/\.$/);
      }
  });
});

describe('texts', () => {
  it('are cut to a bound, and say so', () => {
    expect(cutText('short', 100)).toBe('short');
    const cut = cutText('x'.repeat(5_000_000), 8_192);
    expect(cut).toHaveLength(8_192);
    expect(cut).toContain('(cut, 5000000 characters)');
  });

  it('never hold half a character', () => {
    for (let at = 0; at < 4; at++) {
      const cut = cutText(`${'x'.repeat(at)}${'😀'.repeat(200)}`, 100);
      expect(cut.isWellFormed()).toBe(true);
    }
    expect(cutText('a\ud800', 10)).toBe('a\ufffd');
  });
});

describe('TaskError', () => {
  it('carries code, hint, cause and details', () => {
    const cause = new Error('why');
    const error = new TaskError('X', 'It failed.', {
      retryable: true,
      hint: 'Do this.',
      cause,
      details: { a: 1 },
    });
    expect(error).toMatchObject({
      name: 'TaskError',
      code: 'X',
      message: 'It failed.',
      retryable: true,
      hint: 'Do this.',
      cause,
      details: { a: 1 },
    });
    expect(new TaskError('X', 'y')).toMatchObject({ retryable: false, hint: undefined });
    expect('cause' in new TaskError('X', 'y')).toBe(false);
  });
});
