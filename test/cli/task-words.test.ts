import { expect, it } from 'vitest';
import { makeStyle } from '../../src/cli/style.ts';
import { tableLines } from '../../src/cli/table.ts';
import { lastTrouble, tailOfJournal } from '../../src/cli/views/attempt-view.ts';
import { eventLine } from '../../src/cli/views/journal-view.ts';
import { noteOf, outcomeLines, taskColumns, taskLines } from '../../src/cli/views/task-view.ts';
import { localTime } from '../../src/cli/views/time-words.ts';
import { watchToEnd } from '../../src/cli/watch.ts';
import type { TaskEvent, TaskView } from '../../src/contract/index.ts';
import { why } from '../../src/core/attempt-words.ts';
import { dataWords } from '../../src/core/journal-words.ts';
import { systemClock } from '../../src/system/clock.ts';

/** What `tasks show` tells of the attempts before, and which step comes next. */
const AT = '2026-01-01T00:00:00.000Z';
const NOW = Date.parse(AT) + 120_000;
const plain = makeStyle(false);
const event = (kind: string, fence: number, data = {}, by = 'worker:garage'): TaskEvent => ({
  seq: fence,
  at: AT,
  kind,
  attemptId: `att_${fence}`,
  fence,
  by,
  data,
});
const task = (more: Partial<TaskView> = {}): TaskView =>
  ({
    id: 'tsk_1',
    type: 'demo/x',
    schemaVersion: 1,
    status: 'queued',
    pool: 'default',
    priority: 0,
    labels: {},
    effectKey: 'tsk_1',
    policy: { maxAttempts: 4 },
    attempts: 1,
    undelivered: 0,
    seq: 5,
    createdAt: AT,
    ...more,
  }) as TaskView;

const EVIDENCE =
  "The worker's process (9232 on host) was killed or crashed. The handler had begun at 2026-01-01T00:00:00.000Z and was at 40 % at 2026-01-01T00:00:00.000Z. Its process was still running and was ended.";
const killed = event('lost', 1, {
  reason: 'worker-restarted',
  begun: true,
  message: EVIDENCE,
  details: { claimedAt: AT, workerProcess: { went: 'died', pid: 9232 } },
  status: 'queued',
});
const shown = (view: TaskView, trouble?: TaskEvent) =>
  taskLines(view, plain, NOW, trouble, (text) => text.replace('interlock', './bin/interlock'));
const next = (lines: string[]) => lines.filter((line) => line.startsWith('next'));

it('says how the last attempt went while a task waits, runs again, or has succeeded since', () => {
  const words = `#1 lost 2 min ago on garage: ${EVIDENCE}`;
  const events = 'next   what happened: ./bin/interlock tasks events tsk_1';
  const waiting = shown(task({ waitingFor: 'retry in 98 s' }), killed);
  expect(waiting.find((line) => line.startsWith('last attempt'))).toContain(words);
  expect(next(waiting)).toEqual([events]);
  for (const status of ['running', 'succeeded']) {
    const lines = shown(task({ status, attempts: 2 }), killed);
    expect(lines.find((line) => line.startsWith('one before'))).toContain(words);
    expect(next(lines)).toEqual([events]);
  }
  expect(next(shown(task()))).toEqual([]);
});

it('says what a running task waits for whose worker has gone quiet, on show and in the list', () => {
  const waitingFor =
    'worker garage has not renewed its lease for 100 s; nobody else may run the task, so its word is awaited for another 4 min';
  const silent = task({ status: 'running', worker: 'garage', waitingFor });
  const status = (view: TaskView) => shown(view).find((line) => line.startsWith('status'));
  expect(status(silent)).toContain(`running: ${waitingFor}`);
  expect(noteOf({ ...silent, progress: { percent: 40, at: AT }, cancelRequested: true })).toBe(
    `40 %, ${waitingFor}, asked to stop`,
  );
  expect(status(task({ status: 'running', worker: 'garage' }))).toContain('running: on garage');
});

it('tells a watcher of a silent worker once, not with every second that it is silent', async () => {
  let looks = 0;
  const lines: string[] = [];
  const client = {
    events: async () => ({ events: [] }),
    getTask: async () => {
      looks++;
      const waitingFor = `worker garage has not renewed its lease for ${100 + looks} s`;
      return looks < 5
        ? task({ status: 'running', seq: 0, waitingFor })
        : task({ status: 'succeeded', seq: 0 });
    },
  };
  const line = async (text: string) => void lines.push(text);
  const out = { line, gone: undefined, closed: false };
  const io = { out, err: out, clock: systemClock() };
  await watchToEnd(client as never, 'tsk_1', { io, json: false, style: plain } as never);
  expect(lines.filter((text) => text.includes('has not renewed'))).toHaveLength(1);
});

it('finds the last end of an attempt that was none of its wish, and looks at the end of the journal only', () => {
  const journal = [
    event('leased', 1),
    event('lost', 1),
    event('leased', 2),
    event('released', 2),
    event('leased', 3),
    event('succeeded', 3),
  ];
  expect(lastTrouble(journal)?.fence).toBe(2);
  expect(lastTrouble([event('leased', 1), event('succeeded', 1)])).toBeUndefined();
  expect([tailOfJournal(task({ seq: 7 })), tailOfJournal(task({ seq: 400 }))]).toEqual([0, 350]);
});

it('tells each kind of end in words, and nothing twice', () => {
  const words = (trouble: TaskEvent, more: Partial<TaskView> = {}) =>
    shown(task(more), trouble).find((line) => line.startsWith('last attempt'));
  const swept = { reason: 'lease', workerId: 'garage', leaseRanOutAt: AT, status: 'queued' };
  expect(words(event('lost', 2, swept, 'sweeper'))).toContain(
    `#2 lost 2 min ago on garage: no word came before its lease ran out at ${localTime(Date.parse(AT))}`,
  );
  expect(words(event('failed', 1, { code: 'BUSY', message: 'try later' }))).toContain(
    '#1 failed 2 min ago on garage: BUSY: try later',
  );
  expect(words(event('released', 1, { reason: 'drain' }))).toContain('was given back 2 min ago');
  const error = { code: 'BUSY', message: 'try later', retryable: true };
  expect(words(event('failed', 1, error), { error })).toBeUndefined();
});

it('leads to the journal where no log can be, and to the spool for a refused result', () => {
  const error = (code: string, more = {}) => ({ code, message: 'no', retryable: false, ...more });
  const failed = (code: string, more = {}) =>
    next(outcomeLines(task({ status: 'failed', error: error(code, more) }), plain));
  expect(failed('ATTEMPTS_EXHAUSTED')[0]).toContain('interlock tasks events tsk_1; to run it');
  expect(failed('HANDLER_ERROR')[0]).toContain('interlock tasks logs tsk_1; to run it');
  const refused = failed('RESULT_REFUSED', { details: { spool: "/var/my spool's" } });
  expect(refused[0]).toContain(
    "interlock spool show tsk_1 --full --json --spool '/var/my spool'\\''s'",
  );
  expect(refused[1]).toContain('interlock tasks retry tsk_1 --reason "…"');
});

it('offers the late report that an operator can take, as a whole command', () => {
  const lateReport = { op: 'complete', at: AT };
  for (const status of ['queued', 'failed', 'outcome-unknown'])
    expect(next(shown(task({ status, lateReport })))[0]).toBe(
      'next   take the late complete: ./bin/interlock tasks resolve tsk_1 --as late-report --reason "…"',
    );
});

it('shows a loss in the journal as one whole sentence, without the facts that it holds', () => {
  const line = eventLine(killed, plain);
  expect(line).toContain(
    `reason worker-restarted, ${EVIDENCE.slice(0, -1)}, status queued, by worker:garage`,
  );
  expect(line).not.toMatch(/begun true|claimed at|workerProcess|worker process 9232:/);
});

it('names the next step of an input that does not fit, and of a task that nobody serves', () => {
  const error = { code: 'INPUT_INVALID', message: 'input.n must be a number', retryable: false };
  const [correct, again] = next(shown(task({ status: 'failed', error })));
  expect(correct).toBe(
    'next   correct what the message names, then: ./bin/interlock tasks submit demo/x@1 --input …',
  );
  expect(again).toContain('where the handler was mended');
  const waitingFor = 'no worker for demo/x@1 in pool default';
  expect(next(shown(task({ waitingFor })))[0]).toContain('./bin/interlock tasks types');
  const broken = `${waitingFor}: garage does not serve it: demo/x@1.mjs: it throws. Mend it.`;
  expect(next(shown(task({ waitingFor: broken })))).toEqual([
    'next   do what the status says of its file; to give it up: ./bin/interlock tasks cancel tsk_1',
  ]);
});

it('an unknown outcome has a short reason in lists and beside the status, and all of it once below', () => {
  const message =
    'The effect may or may not have taken place: there was no word from the handler (timeout) after the attempt had passed its gate. It was stopped at its time limit of 4 s. Look at the outside world, then resolve the task.';
  const error = { code: 'OUTCOME_UNKNOWN', message, retryable: false };
  const view = task({ status: 'outcome-unknown', error, finishedAt: AT });
  const reason =
    'OUTCOME_UNKNOWN: there was no word from the handler (timeout) after the attempt had passed its gate';
  expect(noteOf(view)).toBe(reason);
  const lines = shown(view);
  expect(lines.filter((line) => line.includes('Look at the outside world'))).toHaveLength(1);
  expect(lines.find((line) => line.startsWith('status'))).toMatch(/passed its gate$/);
  const own = { ...error, message: 'The bank gave no answer. It may have paid.' };
  expect(noteOf({ ...view, error: own })).toBe(`OUTCOME_UNKNOWN: ${own.message}`);
});

it('a message of many characters is cut in tables, and stands whole once where all of the task is shown', () => {
  const message = 'x'.repeat(20_000);
  const failed = task({ status: 'failed', error: { code: 'E', message, retryable: false } });
  const table = tableLines([failed], taskColumns(plain, NOW), plain, undefined);
  expect(Math.max(...table.map((line) => line.length))).toBeLessThan(500);
  const long = shown(failed).filter((line) => line.length > 500);
  expect(long).toEqual([`E  ${message}`]);
});

it('a long note in a table ends with a whole sentence, and all of it stands where the task is shown', () => {
  const why = `The bank said ${'no '.repeat(60)}today.`;
  const step = `Ask it again ${'and again '.repeat(10)}tomorrow.`;
  const error = { code: 'E', message: `${why} ${step}`, retryable: false };
  const failed = task({ status: 'failed', error });
  const [, row = ''] = tableLines([failed], taskColumns(plain, NOW), plain, undefined);
  expect(row).toMatch(/ today\. …$/);
  expect(shown(failed)).toContain(`E  ${why} ${step}`);
});

it('tells a code once in lists, beside the status and in the journal, where the message begins with it', () => {
  const message = "ENOENT: no such file or directory, open '/x'";
  const error = { code: 'ENOENT', message, retryable: false };
  expect(noteOf(task({ status: 'failed', error, finishedAt: AT }))).toMatch(/^ENOENT: no such/);
  expect(why(event('failed', 1, error), { timeOf: String })).toBe(message);
  expect(dataWords({ error }, String)).toEqual([message]);
});
