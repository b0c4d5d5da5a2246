import { type TaskEvent, type TaskView, typeKey } from '../../contract/index.ts';
import { effectWords } from '../../core/failures.ts';
import {
  nextSteps,
  noteOf,
  notRepeatedWords,
  tookWords,
  undeliveredWords,
} from '../../core/task-words.ts';
import { spoolFlag } from '../../spool/index.ts';
import type { ExitName } from '../exit-codes.ts';
import { plain, type Style } from '../style.ts';
import { type Column, factLines } from '../table.ts';
import { troubleWords } from './attempt-view.ts';
import { cut, cutAtSentence, detailWords } from './detail-words.ts';
import { age, moment } from './time-words.ts';

export { noteOf };

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
    { title: 'NOTE', cell: (task) => cutAtSentence(noteOf(task), NOTE_CHARS) },
  ];
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
      ['status', `${style.state(task.status)}${aside(plain(noteShort(task)))}`],
      ['pool', `${plain(task.pool)}, priority ${task.priority}`],
      ['submitted', moment(task.createdAt, wallMs)],
      ['not before', task.notBeforeAt && moment(task.notBeforeAt, wallMs)],
      ['started', task.startedAt && moment(task.startedAt, wallMs)],
      ['finished', task.finishedAt && `${moment(task.finishedAt, wallMs)},${tookWords(task)}`],
      ['worker', task.worker && plain(task.worker)],
      ['attempts', `${task.attempts} of ${policy.maxAttempts}${undeliveredWords(task)}`],
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
  const { id } = task;
  const resolve = (as: string) => `interlock tasks resolve ${id} --as ${as} --reason "…"`;
  const lines: string[] = [];
  for (const step of nextSteps(task, told)) {
    switch (step.kind) {
      case 'late-report':
        lines.push(`take the late ${step.op}: ${resolve('late-report')}`);
        break;
      case 'resolve':
        lines.push(
          `Look whether the effect took place, then: ${resolve('succeeded')} (or --as failed, or --as retry)`,
        );
        break;
      case 'correct-input':
        lines.push(
          `correct what the message names, then: interlock tasks submit ${plain(typeKey(task.type, task.schemaVersion))} --input …`,
        );
        break;
      case 'unserved':
        lines.push(
          `${step.broken ? 'do what the status says of its file' : 'start a worker that serves it, or see what is served: interlock tasks types'}; to give it up: interlock tasks cancel ${id}`,
        );
        break;
      case 'refused-result': {
        const folder = step.spool === undefined ? '' : spoolFlag(plain(step.spool));
        lines.push(
          `the result, on the machine of ${plain(step.worker ?? 'its worker')}: interlock spool show ${id} --full --json${folder}`,
        );
        break;
      }
      case 'look': {
        const look = `interlock tasks ${step.at} ${id}`;
        lines.push(told && !isOver(task) ? `what happened: ${look}` : look);
        break;
      }
      case 'retry': {
        const begun = step.acceptRepeatedEffect ? ' --accept-repeated-effect' : '';
        const again = `${task.error?.code === 'INPUT_INVALID' ? 'to run it again, where the handler was mended' : 'to run it again'}: interlock tasks retry ${id} --reason "…"${begun}`;
        // One line with where to look.
        const look = lines.at(-1)?.startsWith('interlock tasks ') ? `${lines.pop()}; ` : '';
        lines.push(`${look}${again}`);
        break;
      }
    }
  }
  return lines.map((text) => `${style.faint('next')}   ${text}`);
}

/** It has ended in a way that can be tried again. */
function isOver({ status }: TaskView): boolean {
  return status === 'failed' || status === 'expired';
}

function isRunning({ status }: TaskView): boolean {
  return status === 'running';
}

function errorLines(task: TaskView, style: Style): string[] {
  const { error } = task;
  if (!error) return [];
  const lines = ['', `${style.bad(plain(error.code))}  ${plain(error.message, true)}`];
  const once = notRepeatedWords(task);
  if (once !== undefined) lines.push(once);
  const words = effectWords(error);
  if (words !== undefined) lines.push(error.effect === 'begun' ? style.warn(words) : words);
  // Issues stand in the message already.
  const { issues: _, ...details } = error.details ?? {};
  const more = detailWords(details).map((word) => plain(word));
  if (more.length > 0) lines.push(style.faint(more.join(', ')));
  return lines;
}

function valueLines(name: string, value: unknown, style: Style): string[] {
  if (value === undefined) return [];
  const text = plain(JSON.stringify(value, null, 2), true);
  return ['', style.faint(name), ...text.split('\n').map((line) => `  ${line}`)];
}

/** Of what has failed the whole message stands below. */
function noteShort(task: TaskView): string {
  const note = noteOf(task);
  return task.error && isOver(task) ? cut(note, NOTE_CHARS) : note;
}

/** A handler may throw a whole page; `--json` and `tasks show` have all of it. */
const NOTE_CHARS = 280;

function aside(note: string): string {
  return note ? `: ${note}` : '';
}
