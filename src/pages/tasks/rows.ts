import type { TaskView } from '../../contract/index.ts';
import { typeKey } from '../../contract/type-key.ts';
import { cut } from '../../core/detail-words.ts';
import { noteOf, runningWords } from '../../core/task-words.ts';
import { type Html, html, none } from '../html.ts';
import { code, facts, type Row, table, userText, when } from '../parts.ts';
import { taskAddress, workerAddress } from './addresses.ts';
import { longText } from './long.ts';
import { statusBadge, toneOf } from './status.ts';

/** Tasks as rows: those that run, with their progress, and lists. */

/** Its type, literal, which leads to the task; its id beneath. */
function taskName({ id, type, schemaVersion }: Named): Html {
  return html`<a href="${taskAddress(id)}">${code(typeKey(type, schemaVersion))}</a> <small class="id">${code(id)}</small>`;
}

type Named = Pick<TaskView, 'id' | 'type' | 'schemaVersion'>;

export function runningTable(tasks: readonly TaskView[], nowMs: number): Html {
  return table(
    'Running, newest first',
    [
      { head: 'Task' },
      { head: 'Progress' },
      { head: 'Worker' },
      { head: 'Started', figures: true },
      { head: 'Attempt' },
    ],
    tasks.map((task) => ({
      id: `running-${task.id}`,
      cells: [
        html`${taskName(task)}${task.cancelRequested && html` ${statusBadge(task)}`}`,
        progressHtml(task, nowMs),
        task.worker === undefined
          ? none
          : html`<a href="${workerAddress(task.worker)}">${userText(task.worker)}</a>`,
        when(task.startedAt, nowMs),
        runningWords(task),
      ],
    })),
  );
}

/** How far it is, what its handler said last, and what is odd. */
export function progressHtml(task: TaskView, nowMs: number): Html {
  const { progress, waitingFor } = task;
  const percent = progress?.percent;
  return html`${
    percent !== undefined &&
    html`<progress max="100" value="${percent}" aria-label="Progress of ${task.id}"></progress> ${Math.round(percent)} % `
  }${progress?.message !== undefined && html`<span class="said" dir="auto">${cut(progress.message, MESSAGE_CHARS)}</span> `}${
    progress?.at !== undefined && html`<small class="faint">${when(progress.at, nowMs)}</small>`
  }${progress === undefined && html`<span class="faint">no progress told</span>`}${waitingFor !== undefined && html`<div class="odd" dir="auto">${waitingFor}</div>`}`;
}

/** @param caption tells what the list holds. */
export function taskTable(caption: string, tasks: readonly TaskView[], nowMs: number): Html {
  return table(
    caption,
    [
      { head: 'Task' },
      { head: 'Status', plain: true },
      { head: 'Note' },
      { head: 'Pool' },
      { head: 'Submitted', figures: true },
      { head: 'Tries', figures: true },
    ],
    tasks.map((task): Row => {
      const tone = toneOf(task.status);
      return {
        id: `task-${task.id}`,
        ...((tone === 'bad' || tone === 'warn') && { tone }),
        cells: [
          taskName(task),
          statusBadge(task),
          html`${noteHtml(task)}${labelsHtml(task)}`,
          code(task.pool),
          when(task.createdAt, nowMs),
          String(task.attempts),
        ],
      };
    }),
  );
}

function noteHtml(task: TaskView): Html {
  const note = noteOf(task);
  return note === '' ? none : html`<span dir="auto">${cut(note, MESSAGE_CHARS)}</span>`;
}

/** The first few, shortened: all of them stand on the page of the task. */
function labelsHtml({ labels }: Pick<TaskView, 'labels'>): Html {
  const all = Object.entries(labels);
  if (all.length === 0) return none;
  const rest = all.length - LABELS_SHOWN;
  return html`<ul class="labels" aria-label="Labels">${all
    .slice(0, LABELS_SHOWN)
    .map(
      ([name, value]) =>
        html`<li>${userText(cut(name, LABEL_CHARS))}=${userText(cut(value, LABEL_CHARS))}</li>`,
    )}${rest > 0 && html`<li>and ${rest} more</li>`}</ul>`;
}

/** All of them, whole; long ones beneath each other. */
export function labelFacts(labels: TaskView['labels']): Html {
  const all = Object.entries(labels);
  const short = all.filter(([, value]) => value.length <= LABEL_CHARS);
  const long = all.filter(([, value]) => value.length > LABEL_CHARS);
  return html`${short.length > 0 && facts(short.map(([name, value]) => [userText(name), userText(value)]))}${long.map(
    ([name, value], index) =>
      html`<div class="label-long"><div class="faint">${userText(name)}</div>${longText(`label-${index}`, value)}</div>`,
  )}`;
}

const MESSAGE_CHARS = 280;
const LABELS_SHOWN = 4;
const LABEL_CHARS = 60;
