import type { TaskErrorView, TaskView } from '../contract/index.ts';
import type { AttemptSpan } from './attempt-timeline.ts';
import { effectWords } from './failures.ts';

/** What people can do to a task now, and what happens then, in words: said before they do it. Pure. */

export type TaskAction = 'cancel' | 'retry' | 'resolve';

/** The main one first. */
export function possibleActions(task: TaskView): readonly TaskAction[] {
  const { status, lateReport, cancelRequested } = task;
  switch (status) {
    case 'queued':
      return lateReport ? ['resolve', 'cancel'] : ['cancel'];
    case 'running':
      return cancelRequested ? [] : ['cancel'];
    case 'outcome-unknown':
      return ['resolve'];
    case 'failed':
    case 'expired':
      return lateReport ? ['resolve', 'retry'] : ['retry'];
    case 'cancelled':
      return ['retry'];
    default:
      return [];
  }
}

/** @param attempt the one that runs, as far as the journal tells. */
export function cancelWords(task: TaskView, attempt: AttemptSpan | undefined): readonly string[] {
  if (task.status === 'queued')
    return [
      'It ends at once as cancelled, and no worker will run it.',
      ...(task.attempts > 0 ? ['What its earlier attempts have done stays done.'] : []),
    ];
  const who = task.worker === undefined ? 'Its worker' : `Worker ${task.worker}`;
  return [
    `${who} is asked to stop it. A handler that does not stop by itself is killed after some seconds.`,
    'A handler that is done before it hears of it has succeeded, and so has the task.',
    attempt?.gatePassed
      ? 'The attempt is past its gate: its effect may have begun. If it is stopped, the task ends with unknown outcome, and somebody has to find out.'
      : 'If it is stopped, the task ends as cancelled.',
  ];
}

/** What the words about a cancel depend on, in a few words: where it differs now, they promised something else. */
export function cancelState({ status }: TaskView, attempt: AttemptSpan | undefined): string {
  return status === 'running' && attempt?.gatePassed ? 'running, past its gate' : status;
}

/** @param nowMs by the control plane's clock. */
export function retryWords(task: TaskView, nowMs: number): readonly string[] {
  const { policy, error, effectKey, id, status } = task;
  const passed = policy.deadlineAt !== null && Date.parse(policy.deadlineAt) <= nowMs;
  return [
    `It is queued again under the same id, with the same input and the same effect key${effectKey === id ? '' : ` (${effectKey})`}.`,
    'What it failed with and what was asked before stays in the journal.',
    ...(error?.effect === 'begun'
      ? [
          'An attempt was past its gate: the effect may have taken place, and may take place once more.',
        ]
      : []),
    ...(error?.begun === false && error.effect !== 'begun' ? [uncalledWords(error)] : []),
    ...(passed ? [`Its deadline (${policy.deadlineAt}) has passed and is lifted.`] : []),
    ...(status === 'cancelled' ? ['It is no longer cancelled.'] : []),
    ...(error?.code === 'INPUT_INVALID'
      ? [
          'Its input did not fit the handler. The same input fails again unless the handler was changed: submit a new task otherwise.',
        ]
      : []),
  ];
}

function uncalledWords(error: TaskErrorView): string {
  return `${effectWords(error)}${error.attempt === 1 ? ' So a repeat repeats none.' : ''}`;
}

export type Resolution = 'succeeded' | 'failed' | 'retry' | 'late-report';

export interface ResolutionChoice {
  readonly value: Resolution;
  readonly says: string;
  readonly becomes: string;
}

/** What somebody may have found, and what the task becomes. */
export function resolutionChoices({ status, lateReport }: TaskView): readonly ResolutionChoice[] {
  const late: ResolutionChoice[] = lateReport
    ? [
        {
          value: 'late-report',
          says: `Take what its worker reported too late: ${lateReport.op}`,
          becomes: LATE[lateReport.op] ?? 'The task becomes what the report says.',
        },
      ]
    : [];
  if (status !== 'outcome-unknown') return late;
  return [
    ...late,
    {
      value: 'succeeded',
      says: 'The effect took place',
      becomes: 'The task has succeeded, with the result below (null without one).',
    },
    {
      value: 'failed',
      says: 'It did not, and shall not',
      becomes: 'The task has failed. It can be run again later.',
    },
    {
      value: 'retry',
      says: 'It did not: run the task again',
      becomes:
        'The task is queued again with the same effect key, and may make one attempt more than it had left. Where its handler is not called at all, the next attempt follows by itself.',
    },
  ];
}

const LATE: Readonly<Record<string, string>> = {
  complete: 'The task has succeeded with the result of that report.',
  fail: 'The task has failed with the error of that report.',
  unknown: 'The task has unknown outcome with what that report says.',
};

/** What became of the task, in a sentence for the page after. */
export function doneWords(action: TaskAction, task: TaskView): string {
  const now = task.status === 'outcome-unknown' ? 'of unknown outcome' : task.status;
  switch (action) {
    case 'cancel':
      return task.status === 'running'
        ? 'It was asked to stop. This page shows how it ends.'
        : `The task is ${now}.`;
    case 'retry':
      return `The task is ${now} and will run again.`;
    case 'resolve':
      return `The task is resolved: it is ${now}.`;
  }
}
