import {
  type AttemptState,
  type Change,
  claimRank,
  type NewEvent,
  type TaskState,
} from '../core/task.ts';
import { dueAtMs } from '../core/task-sweep.ts';
import type { AttemptRow, Soon, TaskFacts, TaskRow, Transaction } from '../ports/store.ts';

/** What the machine decided becomes rows, journal entries and notes; the only place where it does. */

/** What one command, or several that follow each other, made of a task and its attempt. */
type Made = Pick<Change, 'task' | 'attempt' | 'events'>;

/** Keeps a change of a task. @returns the row as it is now. */
export function keepChange(
  tx: Transaction,
  row: TaskRow,
  attemptRow: AttemptRow | undefined,
  change: Made,
): Soon<TaskRow> {
  const attempt = change.attempt ?? attemptRow?.attempt;
  const attemptKept =
    change.attempt &&
    (attemptRow
      ? tx.saveAttempt(attemptRow, change.attempt)
      : tx.insertAttempt(row, change.attempt));
  const unchanged = change.task === undefined || change.task === row.task;
  if (unchanged && change.events.length === 0) {
    // A renewal (or nothing at all): there is nothing to tell of the task itself.
    const due = change.attempt && tx.saveDue(row, dueAtMs(row.task, attempt));
    return once(row, attemptKept, due);
  }
  const task = numbered(row.task, change);
  const kept = tx.saveTask(row, task, taskFacts(task, attempt));
  // Created by a clock that was set back since: its age begins now, else it would stand behind all that is submitted
  // until the clock is there again.
  const ranked =
    task.status === 'queued' && task.createdAtMs > tx.nowMs
      ? tx.saveRank(row, claimRank({ ...task, createdAtMs: tx.nowMs }))
      : undefined;
  const told = tx.addEvents(row.ref, row.task.seq + 1, change.events);
  announce(tx, row.task, task, attempt, change.events);
  return once(kept, attemptKept, ranked, told);
}

/** A value, once it and all others are there. */
function once<T>(value: Soon<T>, ...others: readonly unknown[]): Soon<T> {
  if (!(value instanceof Promise) && !others.some(isLater)) return value;
  return Promise.all([value, ...others]).then(([there]) => there);
}

const isLater = (value: unknown) => value instanceof Promise;

/** The journal has no gaps: the task's `seq` grows by the entries of the change. */
function numbered(before: TaskState, change: Made): TaskState {
  const task = change.task ?? before;
  return change.events.length === 0 ? task : { ...task, seq: before.seq + change.events.length };
}

function taskFacts(task: TaskState, attempt: AttemptState | undefined): TaskFacts {
  return { dueAtMs: dueAtMs(task, attempt), attention: needsAttention(task) };
}

/** A person has to say what became of it. */
function needsAttention(task: TaskState): boolean {
  if (task.status === 'outcome-unknown') return true;
  // Whatever the failure is called, its gate was passed: nothing repeats it, and only a look outside tells what
  // was done. Once an operator has decided about that attempt, nobody waits any more.
  if (task.status === 'failed' && task.error?.effect === 'begun' && task.operatorFence < task.fence)
    return true;
  return (
    task.lateReport !== undefined &&
    (task.status === 'failed' || task.status === 'queued' || task.status === 'expired')
  );
}

function announce(
  tx: Transaction,
  before: TaskState | undefined,
  task: TaskState,
  attempt: AttemptState | undefined,
  events: readonly NewEvent[],
): void {
  const { project, pool, type, schemaVersion } = task;
  if (events.length > 0)
    tx.announce({ kind: 'task', project, taskId: task.id, seq: task.seq, status: task.status });
  // One that becomes available later is announced when its time has come.
  if (task.status === 'queued' && before?.status !== 'queued' && task.availableAtMs <= tx.nowMs)
    tx.announce({ kind: 'available', project, pool, type, schemaVersion });
  if (task.cancelRequested && !before?.cancelRequested && task.status === 'running' && attempt)
    tx.announce({ kind: 'cancel', project, workerId: attempt.workerId, attemptId: attempt.id });
}

/** Keeps a new task. `undefined`: the project has one with its idempotency key. */
export function keepNewTask(
  tx: Transaction,
  made: { readonly task: TaskState; readonly events: readonly NewEvent[] },
  facts: {
    readonly rank: number;
    readonly inputJson: string;
    readonly requestHash?: string | undefined;
  },
): Soon<TaskRow | undefined> {
  const { length: seq } = made.events;
  const task = made.task.seq === seq ? made.task : { ...made.task, seq };
  const { dueAtMs, attention } = taskFacts(task, undefined);
  const row = tx.insertTask(task, { dueAtMs, attention, ...facts });
  return row instanceof Promise
    ? row.then((there) => there && begun(tx, there, made.events))
    : row && begun(tx, row, made.events);
}

function begun(tx: Transaction, row: TaskRow, events: readonly NewEvent[]): Soon<TaskRow> {
  const told = tx.addEvents(row.ref, 1, events);
  announce(tx, undefined, row.task, undefined, events);
  return once(row, told);
}
