import { type TaskEvent, type TaskView, typeKey } from '../../contract/index.ts';
import { spoolFlag } from '../../spool/index.ts';
import { durationWords } from '../duration.ts';
import type { ExitName } from '../exit-codes.ts';
import { plain, type Style } from '../style.ts';
import { type Column, factLines } from '../table.ts';
import { troubleWords } from './attempt-view.ts';
import { detailWords } from './detail-words.ts';
import { age, moment } from './time-words.ts';

/** Columns of `tasks list`. @param wallMs now, for ages. */
export function taskColumns(style: Style, wallMs: number): Column<TaskView>[] {
  return [
    { title: 'TASK', cell: ({ id }) => id },
    { title: 'TYPE', cell: (task) => typeKey(task.type, task.schemaVersion) },
    {
      title: 'STATUS',
      cell: ({ status }) => status,
      paint: ({ status }, text) => style.state(status, text),
    },
    { title: 'POOL', cell: ({ pool }) => pool },
    { title: 'AGE', cell: ({ createdAt }) => age(createdAt, wallMs), align: 'right' },
    { title: 'TRIES', cell: ({ attempts }) => String(attempts), align: 'right' },
    { title: 'NOTE', cell: noteOf },
  ];
}

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
  return `${error.code}: ${oneLine(error.message)}${usedUp(task) ? ` (${attemptWords(task)})` : ''}`;
}

/**
 * All of a task, for `tasks show`. @param trouble the journal's entry of how an attempt last ended otherwise than well.
 * @param typed makes a command as it can be typed here.
 */
export function taskLines(
  task: TaskView,
  style: Style,
  wallMs: number,
  trouble?: TaskEvent,
  typed: (text: string) => string = (text) => text,
): string[] {
  const { policy } = task;
  const before = troubleWords(task, trouble, wallMs);
  const labels = Object.entries(task.labels).map(([name, value]) => plain(`${name}=${value}`));
  const facts = factLines(
    [
      ['task', style.strong(plain(task.id))],
      ['type', plain(typeKey(task.type, task.schemaVersion))],
      ['status', `${style.state(task.status)}${aside(plain(noteOf(task)))}`],
      ['pool', `${plain(task.pool)}, priority ${task.priority}`],
      ['submitted', moment(task.createdAt, wallMs)],
      ['not before', task.notBeforeAt && moment(task.notBeforeAt, wallMs)],
      ['started', task.startedAt && moment(task.startedAt, wallMs)],
      ['finished', task.finishedAt && `${moment(task.finishedAt, wallMs)},${tookWords(task)}`],
      ['worker', task.worker && plain(task.worker)],
      ['attempts', `${task.attempts} of ${policy.maxAttempts}${undelivered(task)}`],
      [
        isRunning(task) || task.status === 'succeeded' ? 'one before' : 'last attempt',
        before && plain(before),
      ],
      ['labels', labels.length > 0 ? labels.join(', ') : undefined],
      ['idempotency', task.idempotencyKey && plain(task.idempotencyKey)],
      ['effect key', task.effectKey === task.id ? undefined : plain(task.effectKey)],
      ['deadline', policy.deadlineAt ? moment(policy.deadlineAt, wallMs) : undefined],
    ],
    style,
  );
  return [
    ...facts,
    ...errorLines(task, style),
    ...valueLines('input', task.input, style),
    ...valueLines('result', task.result, style),
    ...nextLines(task, style, before !== undefined).map(typed),
  ];
}

/** How a watched task ended, as an exit; `undefined` while it has not. */
export function outcomeExit(status: string): ExitName | undefined {
  const exits: Record<string, ExitName> = {
    succeeded: 'ok',
    failed: 'task-failed',
    'outcome-unknown': 'task-outcome-unknown',
    cancelled: 'task-cancelled',
    expired: 'task-expired',
  };
  return exits[status];
}

/** The closing line of a watch or a wait, with the next step where one is needed. */
export function outcomeLines(
  task: TaskView,
  style: Style,
  typed: (text: string) => string = (text) => text,
): string[] {
  const took = tookWords(task);
  const head = `${style.state(task.status)} ${plain(task.id)}${took}`;
  const lines = [
    head,
    ...errorLines(task, style),
    ...valueLines('result', task.result, style),
    ...nextLines(task, style, false).map(typed),
  ];
  return lines;
}

/** The next step, where one is needed; each command can be typed as it stands. @param told how an attempt before ended. */
function nextLines(task: TaskView, style: Style, told: boolean): string[] {
  const { id, status, error } = task;
  const next = (...texts: string[]) => texts.map((text) => `${style.faint('next')}   ${text}`);
  const resolve = (as: string) => `interlock tasks resolve ${id} --as ${as} --reason "…"`;
  const late = task.lateReport
    ? [`take the late ${task.lateReport.op}: ${resolve('late-report')}`]
    : [];
  if (status === 'outcome-unknown')
    return next(
      ...late,
      `Look whether the effect took place, then: ${resolve('succeeded')} (or --as failed, or --as retry)`,
    );
  if (status !== 'failed' && status !== 'expired')
    return next(...late, ...(told ? [`what happened: interlock tasks events ${id}`] : []));
  const begun = error?.effect === 'begun' ? ' --accept-repeated-effect' : '';
  const again = `to run it again: interlock tasks retry ${id} --reason "…"${begun}`;
  if (error?.code === 'RESULT_REFUSED')
    return next(
      ...late,
      `the result, on the machine of ${plain(task.worker ?? 'its worker')}: interlock spool show ${id} --full --json${keptIn(error)}`,
      again,
    );
  // A handler that was lost, or never ran, has left no log.
  const look =
    status === 'expired' || told || WITHOUT_LOG.has(error?.code ?? '') ? 'events' : 'logs';
  return next(...late, `interlock tasks ${look} ${id}; ${again}`);
}

/** Where a refused result lies, as its worker said. */
function keptIn({ details }: NonNullable<TaskView['error']>): string {
  return typeof details?.spool === 'string' ? spoolFlag(plain(details.spool)) : '';
}

const WITHOUT_LOG: ReadonlySet<string> = new Set(['ATTEMPTS_EXHAUSTED', 'UNDELIVERABLE']);

function isRunning({ status }: TaskView): boolean {
  return status === 'running';
}

function tookWords({ startedAt, finishedAt, createdAt }: TaskView): string {
  if (!finishedAt) return '';
  const since = (at: string) => Date.parse(finishedAt) - Date.parse(at);
  const all = since(createdAt);
  if (!Number.isFinite(all) || all < 0) return '';
  // Start and end of a short handler are told together, so what lies between them says nothing about it.
  const ran = startedAt === undefined ? 0 : since(startedAt);
  return ` ${durationWords(all)} after submit${ran >= TOLD_MS ? `, ${durationWords(ran)} after its start` : ''}`;
}

function undelivered({ undelivered }: TaskView): string {
  return undelivered === 0 ? '' : `, ${undelivered} more not delivered`;
}

/** A running time below this is not told. */
const TOLD_MS = 1_000;

/** `2 of 2 attempts`; where an operator granted more than the policy, `3 attempts`. */
function attemptWords({ attempts, policy }: TaskView): string {
  const { maxAttempts } = policy;
  const of = attempts <= maxAttempts ? ` of ${maxAttempts}` : '';
  return `${attempts}${of} ${(of === '' ? attempts : maxAttempts) === 1 ? 'attempt' : 'attempts'}`;
}

/** A failure that would have been tried again says by itself not why it was not. */
function usedUp({ status, error, attempts, policy }: TaskView): boolean {
  return status === 'failed' && error?.retryable === true && attempts >= policy.maxAttempts;
}

function errorLines(task: TaskView, style: Style): string[] {
  const { error } = task;
  if (!error) return [];
  const lines = ['', `${style.bad(plain(error.code))}  ${plain(error.message, true)}`];
  if (usedUp(task)) lines.push(`It can be tried again, but ${attemptWords(task)} were used.`);
  if (error.effect === 'begun')
    lines.push(style.warn('The attempt was past its gate: its effect may have taken place.'));
  // Issues stand in the message already.
  const { issues: _, ...details } = error.details ?? {};
  const words = detailWords(details).map((word) => plain(word));
  if (words.length > 0) lines.push(style.faint(words.join(', ')));
  return lines;
}

function valueLines(name: string, value: unknown, style: Style): string[] {
  if (value === undefined) return [];
  const text = plain(JSON.stringify(value, null, 2), true);
  return ['', style.faint(name), ...text.split('\n').map((line) => `  ${line}`)];
}

function aside(note: string): string {
  return note ? `: ${note}` : '';
}

function oneLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
