import { expect, it } from 'vitest';
import type { Attempt } from '../../src/contract/index.ts';
import { claimedAttempt } from '../../src/core/attempt.ts';
import { Held } from '../../src/worker/held.ts';

it('keeps of an attempt that is over what names it, and nothing of what it needed to run', () => {
  const names = {
    ...{ taskId: 'tsk_1', attemptId: 'att_1', fence: 1, leaseToken: 'lt' },
    ...{ type: 'demo/a', schemaVersion: 1 },
  };
  const attempt = {
    ...{ ...names, effectSafety: 'pure', effectGate: 'start' },
    input: { large: 'x' },
  } as unknown as Attempt;
  const lease = { leaseMs: 1, leaseUntil: 1, renewAt: 1 };
  const held = new Held(attempt, claimedAttempt(attempt), 0, true, lease);
  held.letGo();
  expect(held.attempt).toEqual(names);
});
