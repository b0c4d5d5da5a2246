import { taskErrorCodes } from '../contract/errors.ts';
import type { TaskErrorView, TaskView } from '../contract/index.ts';
import { withCode } from './detail-words.ts';
import { durationWords } from './duration-words.ts';
import { EFFECT_MAY_BE, isCatalogued, isResolved } from './failures.ts';
import { saysNotServed } from './waiting-for.ts';

/** What people are told of a task, the same wherever they look. */

/** What matters about a task now, in one clause. */
export function noteOf(task: TaskView): string {
  const { error, progress, worker, waitingFor, status } = task;
  if (task.lateReport) return `a late ${task.lateReport.op} was kept: an operator can take it`;
  if (status === 'queued') return waitingFor ?? '';
  if (status === 'running') {
    const parts = [
      progress?.percent === undefined ? undefined : `${Math.round(progress.percent)} %`,
      progress?.message,
      // What it waits for names the worker that it waits for.
      waitingFor ?? (worker === undefined ? undefined : `on ${worker}`),
      task.cancelRequested ? 'asked to stop' : undefined,
    ];
    return parts.filter(Boolean).join(', ');
  }
  if (!error) return '';
  if (isResolved(error)) return oneLine(error.message);
  return `${withCode(error.code, shortReason(error))}${usedUp(task) ? ` (${attemptWords(task)})` : ''}`;
}

/** How long it took: ` 4 min after submit, 3 min after its start`; empty while it has not ended. */
export function tookWords({ startedAt, finishedAt, createdAt }: TaskView): string {
  if (!finishedAt) return '';
  const since = (at: string) => Date.parse(finishedAt) - Date.parse(at);
  const all = since(createdAt);
  if (!Number.isFinite(all) || all < 0) return '';
  // Start and end of a short handler are told together, so what lies between them says nothing about it.
  const ran = startedAt === undefined ? 0 : since(startedAt);
  return ` ${durationWords(all)} after submit${ran >= TOLD_MS ? `, ${durationWords(ran)} after its start` : ''}`;
}

/** `, 2 more not delivered`, or nothing. */
export function undeliveredWords({ undelivered }: TaskView): string {
  return undelivered === 0 ? '' : `, ${undelivered} more not delivered`;
}

/** A running time below this is not told. */
const TOLD_MS = 1_000;

/** `2 of 2 attempts`; where an operator granted more than the policy, `3 attempts`. */
export function attemptWords({ attempts, policy }: TaskView): string {
  const { maxAttempts } = policy;
  const of = attempts <= maxAttempts ? ` of ${maxAttempts}` : '';
  return `${attempts}${of} ${(of === '' ? attempts : maxAttempts) === 1 ? 'attempt' : 'attempts'}`;
}

/** Of one that runs: `1 of 5 attempts`; its worker may have claimed it and not begun. */
export function runningWords(task: TaskView): string {
  return task.attempts === 0 ? 'claimed, not begun' : attemptWords(task);
}

/** A failure that would have been tried again says by itself not why it was not. */
function usedUp({ status, error, attempts, policy }: TaskView): boolean {
  return status === 'failed' && error?.retryable === true && attempts >= policy.maxAttempts;
}

/** Why a failed task was not tried again, where that is not clear from its error. */
export function notRepeatedWords(task: TaskView): string | undefined {
  const { status, error, attempts, policy } = task;
  if (usedUp(task)) return `It can be tried again, but ${attemptWords(task)} were used.`;
  if (status !== 'failed' || error === undefined || attempts >= policy.maxAttempts)
    return undefined;
  if (error.retryable)
    return error.effect === 'begun'
      ? 'The handler called it retryable, but nothing repeats an attempt that was past its gate by itself.'
      : undefined;
  if (error.code === 'INPUT_INVALID')
    return 'It was not tried again: the same input would not fit either.';
  const byHandler = !isCatalogued(error.code) || taskErrorCodes[error.code].by === 'handler';
  return byHandler || error.code === 'HANDLER_ERROR'
    ? 'The handler did not call it retryable, so it was not tried again.'
    : undefined;
}

/** What somebody can do about a task, in the order in which they would. */
export type NextStep =
  | { readonly kind: 'late-report'; readonly op: string }
  | { readonly kind: 'resolve' }
  /** The same input would end the same: another one has to be submitted. */
  | { readonly kind: 'correct-input' }
  /** Nobody serves what it asks for. */
  | {
      readonly kind: 'unserved' /** A worker says what is to be done about its file. */;
      readonly broken: boolean;
    }
  /** Its result lies where its worker runs. */
  | {
      readonly kind: 'refused-result';
      readonly worker: string | undefined;
      readonly spool: string | undefined;
    }
  | { readonly kind: 'look'; readonly at: 'events' | 'logs' }
  | { readonly kind: 'retry'; readonly acceptRepeatedEffect: boolean };

/** @param told how an attempt before has ended is shown already. */
export function nextSteps(task: TaskView, told: boolean): readonly NextStep[] {
  const { status, error, lateReport } = task;
  const late: readonly NextStep[] = lateReport ? [{ kind: 'late-report', op: lateReport.op }] : [];
  if (status === 'outcome-unknown') return [...late, { kind: 'resolve' }];
  if (isUnserved(task))
    return [...late, { kind: 'unserved', broken: saysNotServed(task.waitingFor ?? '') }];
  if (status !== 'failed' && status !== 'expired')
    return told ? [...late, { kind: 'look', at: 'events' }] : late;
  // Somebody has decided: nothing is left to do.
  if (isResolved(error)) return late;
  const retry = { kind: 'retry', acceptRepeatedEffect: error?.effect === 'begun' } as const;
  if (error?.code === 'RESULT_REFUSED')
    return [...late, { kind: 'refused-result', worker: task.worker, spool: spoolOf(error) }, retry];
  if (error?.code === 'INPUT_INVALID') return [...late, { kind: 'correct-input' }, retry];
  // A handler that was lost, or never ran, has left no log.
  const at = status === 'expired' || told || WITHOUT_LOG.has(error?.code ?? '') ? 'events' : 'logs';
  return [...late, { kind: 'look', at }, retry];
}

/** It waits, and no worker will come by itself. */
export function isUnserved({ status, waitingFor }: TaskView): boolean {
  return status === 'queued' && waitingFor?.startsWith('no worker ') === true;
}

/** Where a refused result lies, as its worker said. */
function spoolOf({ details }: TaskErrorView): string | undefined {
  return typeof details?.spool === 'string' ? details.spool : undefined;
}

const MAY_BE = `${EFFECT_MAY_BE}: `;

const WITHOUT_LOG: ReadonlySet<string> = new Set(['ATTEMPTS_EXHAUSTED', 'UNDELIVERABLE']);

/**
 * The first line. Of an unknown outcome only what happened: what it means and what to do stands below, where all of it is
 * shown, and in a list each row would say the same.
 */
function shortReason({ code, message }: TaskErrorView): string {
  const line = oneLine(message);
  if (code !== 'OUTCOME_UNKNOWN' || !line.startsWith(MAY_BE)) return line;
  return line.slice(MAY_BE.length).split('. ', 1)[0] ?? '';
}

function oneLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
