import { expect, it } from 'vitest';
import {
  completePolicy,
  defaultPolicy,
  policyRead,
  policyRequest,
} from '../../src/contract/policy.ts';

it('has the defaults of the contract', () => {
  expect(completePolicy()).toEqual({
    maxAttempts: 5,
    backoff: { initialMs: 5_000, factor: 2, maxMs: 120_000, jitter: 0.2 },
    attemptTimeoutMs: 3_600_000,
    leaseMs: 30_000,
    lostGraceMs: 300_000,
    queueTimeoutMs: null,
    deadlineAt: null,
  });
});

it('fills what is missing, part by part', () => {
  const policy = completePolicy({
    maxAttempts: 1,
    backoff: { initialMs: 0 },
    attemptTimeoutMs: null,
  });
  expect(policy).toEqual({
    ...defaultPolicy,
    maxAttempts: 1,
    backoff: { ...defaultPolicy.backoff, initialMs: 0 },
    attemptTimeoutMs: null,
  });
});

it('refuses a field that it does not know, with its path', () => {
  for (const [request, path] of [
    [{ maxAttemps: 3 }, []],
    [{ backoff: { inital: 1 } }, ['backoff']],
  ] as const) {
    const issue = policyRequest.safeParse(request).error?.issues[0];
    expect(issue?.code).toBe('unrecognized_keys');
    expect(issue?.path).toEqual(path);
  }
});

it.each([
  { maxAttempts: 0 },
  { maxAttempts: 1.5 },
  { backoff: { factor: 0.5 } },
  { backoff: { jitter: 1.1 } },
  { backoff: { initialMs: -1 } },
  { leaseMs: 0 },
  { lostGraceMs: -1 },
  { lostGraceMs: null },
  { queueTimeoutMs: 0 },
  { attemptTimeoutMs: 0 },
  { deadlineAt: 'tomorrow' },
])('refuses %j', (request) => {
  expect(policyRequest.safeParse(request).success).toBe(false);
});

it.each([
  {},
  {
    maxAttempts: 1,
    lostGraceMs: 0,
    queueTimeoutMs: null,
    attemptTimeoutMs: null,
    deadlineAt: null,
  },
  { backoff: { initialMs: 0, factor: 1, maxMs: 0, jitter: 0 } },
  { deadlineAt: '2030-01-01T00:00:00Z', queueTimeoutMs: 1 },
])('takes %j', (request) => {
  expect(policyRequest.safeParse(request).success).toBe(true);
});

it('is read leniently in an answer: what is missing has its default, what is new is ignored', () => {
  expect(
    policyRead.parse({ leaseMs: 1, backoff: { factor: 3, curve: 'new' }, colour: 'new' }),
  ).toEqual({
    ...defaultPolicy,
    leaseMs: 1,
    backoff: { ...defaultPolicy.backoff, factor: 3 },
  });
});
