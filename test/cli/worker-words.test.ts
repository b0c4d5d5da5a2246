import { expect, it } from 'vitest';
import { makeStyle } from '../../src/cli/style.ts';
import { detailWords } from '../../src/cli/views/detail-words.ts';
import { localTime } from '../../src/cli/views/time-words.ts';
import { workerColumns, workerNotes } from '../../src/cli/views/worker-view.ts';
import type { WorkerCall } from '../../src/cli/worker-agent.ts';
import { ended } from '../../src/cli/worker-words.ts';
import type { WorkerView } from '../../src/contract/index.ts';
import { withCode } from '../../src/core/detail-words.ts';

/** What people read of losses, paused types and handlers that do not go. */
const T = '2026-01-01T00:00:00.000Z';
const at = localTime(Date.parse(T));

it('tells the details of a loss in clauses', () => {
  const lastProgress = { percent: 40.26, message: 'page 4 of 10', at: T };
  const workerProcess = { went: 'died', pid: 7, hostName: 'garage', since: T };
  expect(
    detailWords({
      reason: 'worker-restarted',
      begunAt: T,
      lastProgress,
      workerProcess,
      exitCode: 7,
    }),
  ).toEqual([
    'reason worker-restarted',
    `begun at ${at}`,
    `last progress 40.3 %, "page 4 of 10" at ${at}`,
    'worker process 7 on garage: killed or crashed',
    'exitCode 7',
  ]);
  expect(detailWords({ workerProcess: { went: 'unknown' } })).toEqual([
    'worker process: it is not known how it ended',
  ]);
});

it('tells where in its code a handler threw', () => {
  const stack = ['lib/money.ts:3', 'demo/pay@1.ts:14'];
  expect(detailWords({ stack })).toEqual([
    'thrown at lib/money.ts:3, called from demo/pay@1.ts:14',
  ]);
  expect(detailWords({ stack: stack.slice(1) })).toEqual(['thrown at demo/pay@1.ts:14']);
  expect(detailWords({ stack, thrownIn: 'stripe' })).toEqual([
    'thrown in stripe, in your code at lib/money.ts:3, called from demo/pay@1.ts:14',
  ]);
  expect(detailWords({ stack: [], thrownIn: 'a cellar' })).toEqual([
    'stack []',
    'thrownIn a cellar',
  ]);
});

it('tells causes and parts of an error in words, with their places', () => {
  const refused = { message: 'connect ECONNREFUSED 127.0.0.1:1', code: 'ECONNREFUSED' };
  const declined = { message: 'declined', code: 'E_CARD', name: 'CardError', stack: ['a@1.ts:7'] };
  expect(detailWords({ causes: [declined, refused], errors: [{ message: 'a' }] })).toEqual([
    'caused by CardError: E_CARD: declined (thrown at a@1.ts:7)',
    'caused by connect ECONNREFUSED 127.0.0.1:1',
    'one of its errors: a',
  ]);
  expect(
    detailWords({ causes: [{ message: 'x', stack: ['b.ts:1', 'a.ts:2'], thrownIn: 'pg' }] }),
  ).toEqual(['caused by x (thrown in pg, in your code at b.ts:1, called from a.ts:2)']);
  expect(detailWords({ causes: [{ message: 'x', of: 'mine' }] })).toEqual([
    'causes [{"message":"x","of":"mine"}]',
  ]);
});

it('tells a code once where its message begins with it', () => {
  expect(withCode('ENOENT', 'ENOENT: no such file')).toBe('ENOENT: no such file');
  expect(withCode('ENO', 'ENOENT: no such file')).toBe('ENO: ENOENT: no such file');
  expect(withCode('EACCES', 'refused')).toBe('EACCES: refused');
  expect(withCode('', 'refused')).toBe('refused');
});

it('tells what does not have the expected shape as it is', () => {
  expect(
    detailWords({
      lastProgress: 'soon',
      workerProcess: { went: 'swimming' },
      begunAt: 'yesterday',
      causes: [7],
      nothing: null,
    }),
  ).toEqual(['lastProgress soon', 'worker process: swimming', 'begun at yesterday', 'causes [7]']);
});

it('tells which types a worker leaves alone, and which handlers do not go', () => {
  const worker = {
    workerId: 'garage',
    pausedTypes: [
      { type: 'demo/x', schemaVersion: 1, why: 'no card', forMs: 8_000, failures: 2 },
      { type: 'demo/y', schemaVersion: 2, why: 'no memory', forMs: 0, failures: 1 },
    ],
    stuck: [
      { type: 'demo/z', schemaVersion: 1, taskId: 'tsk_1', attemptId: 'att_1', pids: [7, 8] },
      {
        type: 'demo/z',
        schemaVersion: 1,
        taskId: 'tsk_2',
        attemptId: 'att_2',
        earlierSession: true,
      },
      { type: 'demo/z', schemaVersion: 1, taskId: 'tsk_3', attemptId: 'att_3' },
    ],
  } as unknown as WorkerView;
  expect(workerNotes(worker, makeStyle(false), 0)).toEqual([
    'garage: demo/x@1 is paused for 8 s (2 pauses in a row): no card',
    'garage: demo/y@2 is tried again with its next task: no memory',
    'garage: the handler of tsk_1 (demo/z@1) was killed and does not go (process 7, 8); it keeps its slot',
    'garage: the handler of tsk_2 (demo/z@1), of an earlier process of this worker, was killed and does not go; it keeps its slot',
    'garage: the handler of tsk_3 (demo/z@1) was told to stop and does not; it runs inside its program, which cannot kill it, and keeps its slot',
  ]);
});

it('tells the reason once, below the table, and of one that has gone what was heard last', () => {
  const cells = (worker: object) =>
    workerColumns(makeStyle(false), Date.parse(T)).map(({ cell }) => cell(worker as WorkerView));
  const common = { workerId: 'garage', slots: { busy: 1, max: 2 }, pools: ['p'], handlers: [] };
  const full = 'the spool /s cannot be written (ENOSPC). The disk is full';
  const sick = {
    ...common,
    state: 'ready',
    words: `ready, but claims nothing: ${full}; it was asked to drain`,
    notClaiming: full,
    drainRequested: true,
    spool: { ok: false, pending: 0, oldestMs: null },
    lastSeenAt: T,
  };
  expect(cells(sick).slice(1, 4)).toEqual([
    'ready, but claims nothing; it was asked to drain',
    '1/2',
    'not writable',
  ]);
  expect(workerNotes(sick as unknown as WorkerView, makeStyle(false), 0)).toEqual([
    `garage claims nothing: ${full}`,
    'garage was asked to drain',
  ]);
  const gone = {
    ...common,
    state: 'offline',
    words: 'offline: it said goodbye 3 s ago',
    drainRequested: true,
    spool: { ok: true, pending: 3, oldestMs: null },
    lastSeenAt: T,
  };
  expect(cells(gone).slice(1, 4)).toEqual([
    'offline: it said goodbye 3 s ago',
    'was 1/2',
    'was 3 unsent',
  ]);
  expect(workerNotes(gone as unknown as WorkerView, makeStyle(false), 0)).toEqual([]);
});

it('says once that another process has taken over its worker id', async () => {
  const detail = 'Another worker has taken over worker id garage; this session is over.';
  const end = { why: 'superseded', unsent: 0, stopped: 0, detail } as const;
  const log = { flush: async () => {} };
  const call = { settings: { workerId: 'garage' } } as WorkerCall;
  await expect(ended(end, call, { folder: '/s', refused: 0 }, log as never)).rejects.toThrow(
    /^Another process has taken over worker id "garage"\. Nothing is left in the spool\.$/,
  );
});

it('ends a drain with a word about what was refused', async () => {
  const said: string[] = [];
  const log = { info: (_code: string, text: string) => said.push(text), flush: async () => {} };
  const end = { why: 'drained', unsent: 0, stopped: 0 } as const;
  for (const refused of [0, 1, 2])
    await ended(end, {} as WorkerCall, { folder: '/my spool', refused }, log as never);
  expect(said).toEqual([
    'Drained in order. Nothing is left in the spool.',
    "Drained in order. Every report was answered; one that was refused lies in the spool: interlock spool list --state refused --spool '/my spool'",
    "Drained in order. Every report was answered; 2 that were refused lie in the spool: interlock spool list --state refused --spool '/my spool'",
  ]);
});
