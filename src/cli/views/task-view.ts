import { type TaskView, typeKey } from '../../contract/index.ts';
import { durationWords } from '../duration.ts';
import type { ExitName } from '../exit-codes.ts';
import { plain, type Style } from '../style.ts';
import { type Column, factLines } from '../table.ts';

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
  if (task.lateReport)
    return `a late ${task.lateReport.op} was kept: tasks resolve --as late-report takes it`;
  if (status === 'queued') return waitingFor ?? '';
  if (status === 'running') {
    const parts = [
      progress?.percent === undefined ? undefined : `${Math.round(progress.percent)} %`,
      progress?.message,
      worker === undefined ? undefined : `on ${worker}`,
      task.cancelRequested ? 'asked to stop' : undefined,
    ];
    return parts.filter(Boolean).join(', ');
  }
  if (!error) return '';
  return `${error.code}: ${oneLine(error.message)}${usedUp(task) ? ` (${attemptWords(task)})` : ''}`;
}

/** All of a task, for `tasks show`. */
export function taskLines(task: TaskView, style: Style, wallMs: number): string[] {
  const { policy } = task;
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
    ...nextLines(task, style),
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
export function outcomeLines(task: TaskView, style: Style): string[] {
  const took = tookWords(task);
  const head = `${style.state(task.status)} ${plain(task.id)}${took}`;
  const lines = [
    head,
    ...errorLines(task, style),
    ...valueLines('result', task.result, style),
    ...nextLines(task, style),
  ];
  return lines;
}

/** The next step, where one is needed; each command can be typed as it stands. */
function nextLines({ id, status, error }: TaskView, style: Style): string[] {
  const next = (text: string) => [`${style.faint('next')}   ${text}`];
  if (status === 'outcome-unknown')
    return next(
      `Look whether the effect took place, then: interlock tasks resolve ${id} --as succeeded --reason "…" (or --as failed, or --as retry)`,
    );
  if (status !== 'failed' && status !== 'expired') return [];
  const begun = error?.effect === 'begun' ? ' --accept-repeated-effect' : '';
  return next(
    `interlock tasks logs ${id}; to run it again: interlock tasks retry ${id} --reason "…"${begun}`,
  );
}

/** `3 min`, `12 s`; nothing below zero, whatever the clocks say. */
export function age(at: string, wallMs: number): string {
  const ms = wallMs - Date.parse(at);
  if (!Number.isFinite(ms)) return '';
  return durationWords(ms < 1_000 ? Math.max(0, ms) : Math.floor(ms / 1_000) * 1_000);
}

/** `2026-11-29 18:31:02 (3 min ago)`, local time. */
export function moment(at: string, wallMs: number): string {
  const ms = Date.parse(at);
  if (!Number.isFinite(ms)) return plain(at);
  const away = wallMs - ms;
  const words = durationWords(Math.floor(Math.abs(away) / 1_000) * 1_000);
  return `${localTime(ms)} (${away < 0 ? `in ${words}` : `${words} ago`})`;
}

/** `2026-11-29 18:31:02`. */
export function localTime(ms: number): string {
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')}`;
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
  const details = Object.entries(error.details ?? {}).filter(([name]) => name !== 'issues');
  if (details.length > 0)
    lines.push(
      style.faint(
        details.map(([name, value]) => `${plain(name)} ${plain(shown(value))}`).join(', '),
      ),
    );
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

function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
