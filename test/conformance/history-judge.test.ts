import { expect, it } from 'vitest';
import { enough, judgeLoad } from '../../src/conformance/history/judge-load.ts';
import type { TaskRecord } from '../../src/conformance/history/record.ts';
import type { TaskOp } from '../../src/conformance/history/task-state.ts';
import { systemClock } from '../../src/system/clock.ts';

/** What is made of a whole load: how much has to be judged, and how long that may take. */
const options = { maxAttempts: 3, lostGraceMs: 500, clock: systemClock() };
const never = Number.POSITIVE_INFINITY;

const record = (ops: readonly TaskOp[]): TaskRecord => ({
  word: 'pure',
  idempotencyKey: 'key',
  taskId: 'tsk_1',
  ops: [...ops],
  journal: undefined,
  upTo: undefined,
});

const submitted: TaskOp = {
  asked: { what: 'submit' },
  answer: { verdict: '201', taskId: 'tsk_1' },
  callMs: 0,
  returnMs: 1,
};

/** Many calls that nobody answered, and a view that none of their orders explains. */
function beyond(unanswered: number): TaskOp[] {
  const ops = [submitted];
  for (let i = 0; i < unanswered; i++) {
    const asked = { what: 'claim', worker: 'w', request: `r${i}`, leaseMs: 10 + i } as const;
    const claim = { ...asked, safety: 'pure', gate: 'start' } as const;
    const report = {
      what: 'report',
      op: 'release',
      attemptId: `a${i % 5}`,
      body: `b${i}`,
    } as const;
    const never3 = { answer: undefined, callMs: 2 + i, returnMs: never };
    ops.push({ asked: claim, ...never3 }, { asked: { ...report, identity: true }, ...never3 });
    ops.push({ asked: { what: 'retry', action: `x${i}` }, ...never3 });
  }
  const view = { status: 'failed', attempts: 7, undelivered: 7, seq: 3 };
  const read = { what: 'read' } as const;
  ops.push({ asked: read, answer: { verdict: '200', view }, callMs: 90, returnMs: 91 });
  return ops;
}

const hard = (): TaskRecord => {
  const upTo = [0, ...journal.map((_, i) => i + 1)];
  return { ...record(beyond(22)), journal, upTo };
};

const journal = ['a0', 'a1', 'a2', 'a3', 'a4'].flatMap((id) => [`leased ${id}`, `released ${id}`]);

it('gives a history up that is beyond the search, and says that such a load shows nothing', async () => {
  const { signal } = new AbortController();
  const judged = await judgeLoad([hard()], { ...options, signal }).catch((error: Error) => error);
  if (judged instanceof Error) throw judged;
  expect(judged.undecided).toBe(1);
  expect(() => enough(judged, { tasks: 1, answered: {} })).toThrow(
    'could not be judged: the histories of 1 of 1 tasks are beyond the search',
  );
}, 30_000);

it('ends in the middle of a search when the case does', async () => {
  const over = new AbortController();
  const judging = judgeLoad([hard()], { ...options, signal: over.signal });
  setTimeout(() => over.abort(), 20);
  await expect(judging).rejects.toThrow('The case is over.');
});

it('has judged enough only where so many calls of each kind were answered', async () => {
  const { signal } = new AbortController();
  const judged = await judgeLoad([record([submitted]), record([])], { ...options, signal });
  expect(judged).toEqual({ tasks: 1, calls: 1, undecided: 0, answered: { submit: 1 } });
  enough(judged, { tasks: 1, answered: { submit: 1 } });
  expect(() => enough(judged, { tasks: 2, answered: { submit: 1, claim: 3 } })).toThrow(
    'could not be judged: there are 0 answered calls of the kind claim (at least 3), 1 tasks (at least 2).',
  );
});
