import type { TaskView } from '../../contract/index.ts';
import { typeKey } from '../../contract/type-key.ts';
import { type AttemptSpan, openAttempt, type TimelineItem } from '../../core/attempt-timeline.ts';
import { detailWords, withCode } from '../../core/detail-words.ts';
import {
  cancelState,
  cancelWords,
  possibleActions,
  resolutionChoices,
  retryWords,
  type TaskAction,
} from '../../core/task-actions.ts';
import { type Html, html } from '../html.ts';
import { code, facts, notice, userText, when } from '../parts.ts';
import { taskAddress, workerAddress } from './addresses.ts';
import { longText } from './long.ts';
import { statusBadge } from './status.ts';

/** What somebody is about to do to a task: what will happen, and the form that does it. */
export interface ActionModel {
  readonly action: TaskAction;
  readonly task: TaskView;
  readonly timeline: readonly TimelineItem[];
  readonly nowMs: number;
  readonly csrf: Html;
  /** Of this form: sent twice it is one action. */
  readonly actionId: string;
  /** What was typed, where the form is shown again. */
  readonly typed: Typed;
  /** What is wrong with it, by field; `form`: with the whole. */
  readonly problems: Readonly<Partial<Record<keyof Typed | 'form', string>>>;
}

export interface Typed {
  readonly reason: string;
  readonly attempts: string;
  /** `yes` where a second effect is fine. */
  readonly accept: string;
  readonly resolution: string;
  readonly result: string;
}

export const TITLES: Readonly<Record<TaskAction, string>> = {
  cancel: 'Cancel a task',
  retry: 'Run a task again',
  resolve: 'Resolve a task',
};

export function actionHtml(model: ActionModel): Html {
  const { action, task, problems, nowMs } = model;
  const possible = possibleActions(task).includes(action);
  return html`<h1>${TITLES[action]}</h1>
<p>${code(typeKey(task.type, task.schemaVersion))} <a href="${taskAddress(task.id)}">${code(task.id)}</a> ${statusBadge(task)}</p>
${problems.form !== undefined && html`<div role="alert">${notice('bad', html`<p dir="auto">${problems.form}</p>`)}</div>`}
${possible ? form(model) : html`${notice('warn', html`<p>${impossible(model)}</p>`)}<p><a href="${taskAddress(task.id)}">Back to the task</a></p>`}
${action !== 'cancel' && evidence(model, nowMs)}`;
}

function form(model: ActionModel): Html {
  const { action, task, csrf, actionId, problems } = model;
  return html`<form method="post" action="${taskAddress(task.id, action)}" class="narrow">${csrf}
<input type="hidden" name="actionId" value="${actionId}"><input type="hidden" name="ifSeq" value="${task.seq}">
${fields(model)}
${reasonField(model)}
<p class="actions"><button class="${action === 'cancel' ? 'danger' : 'main'}">${BUTTONS[action]}</button> <a href="${taskAddress(task.id)}">${problems.form === undefined ? 'Leave it as it is' : 'Back to the task'}</a></p>
</form>`;
}

function fields(model: ActionModel): Html {
  const { action, task, timeline, nowMs, typed, problems } = model;
  switch (action) {
    case 'cancel':
      return html`<input type="hidden" name="spoke" value="${cancelState(task, openAttempt(timeline))}">${happens(cancelWords(task, openAttempt(timeline)))}`;
    case 'retry':
      return html`${happens(retryWords(task, nowMs))}
<p><label for="attempts">More attempts that are granted</label> <input id="attempts" name="attempts" type="number" min="1" max="1000" value="${typed.attempts || '1'}" required${wrong(problems.attempts, 'attempts')}></p>
${said(problems.attempts, 'attempts')}
${
  task.error?.effect === 'begun' &&
  html`<p><label class="choice"><input type="checkbox" name="accept" value="yes" required${typed.accept === 'yes' && html` checked`}${wrong(problems.accept, 'accept')}>I have looked: it is all right if the effect takes place a second time</label></p>
${said(problems.accept, 'accept')}`
}`;
    case 'resolve':
      return html`<fieldset class="choices-of-one"><legend>What did you find?</legend>
${resolutionChoices(task).map(
  ({ value, says, becomes }, index) =>
    html`<label class="choice"><input type="radio" name="resolution" value="${value}" required${typed.resolution === value && html` checked`}${index === 0 && wrong(problems.resolution, 'resolution')}><strong>${says}</strong><small>${becomes}</small></label>`,
)}
${said(problems.resolution, 'resolution')}</fieldset>
${
  task.status === 'outcome-unknown' &&
  html`<p><label for="result">Result, as JSON, if the effect took place</label> <textarea id="result" name="result" rows="3" dir="ltr" spellcheck="false" autocomplete="off"${wrong(problems.result, 'result')}>${typed.result}</textarea></p>
${said(problems.result, 'result')}`
}`;
  }
}

function reasonField({ action, typed, problems }: ActionModel): Html {
  const needed = action !== 'cancel';
  return html`<p><label for="reason">${REASONS[action]}${needed && html` <small>(needed)</small>`}</label> <textarea id="reason" name="reason" rows="3" dir="auto" maxlength="4096"${needed && html` required`} aria-describedby="reason-hint${problems.reason !== undefined && ' wrong-reason'}"${problems.reason !== undefined && html` aria-invalid="true"`}>${typed.reason}</textarea></p>
<p class="faint" id="reason-hint">It is kept in the journal, with who you are.</p>
${said(problems.reason, 'reason')}`;
}

function happens(words: readonly string[]): Html {
  return html`<h2>What will happen</h2><ul>${words.map((word) => html`<li dir="auto">${word}</li>`)}</ul>`;
}

function wrong(problem: string | undefined, field: string): Html | false {
  return problem !== undefined && html` aria-invalid="true" aria-describedby="wrong-${field}"`;
}

function said(problem: string | undefined, field: string): Html | false {
  return (
    problem !== undefined && html`<p class="error" id="wrong-${field}" dir="auto">${problem}</p>`
  );
}

/** What is known: where to look outside, and how the last attempt went. */
function evidence({ task, timeline }: ActionModel, nowMs: number): Html {
  const { error, effectKey } = task;
  const last = timeline.findLast((item): item is AttemptSpan => item.kind === 'attempt');
  const { issues: _, ...told } = error?.details ?? {};
  const details = detailWords(told, (at) => at);
  return html`<section class="evidence" id="evidence"><h2>What is known</h2>
${error && html`<p>${code(error.code)}</p>${longText('evidence-message', error.message)}`}
${details.length > 0 && html`<ul>${details.map((word, index) => html`<li>${longText(`evidence-${index}`, word)}</li>`)}</ul>`}
${last?.why !== undefined && last.why !== (error && withCode(error.code, error.message)) && longText('evidence-last', last.why)}
${facts([
  ['Effect key, to look for outside', code(effectKey)],
  [
    'Worker',
    task.worker !== undefined &&
      html`<a href="${workerAddress(task.worker)}">${userText(task.worker)}</a>`,
  ],
  ['Began', last?.startedAt !== undefined && when(last.startedAt, nowMs)],
  ['Over', last?.endedAt !== undefined && when(last.endedAt, nowMs)],
])}
<p><a href="${taskAddress(task.id)}#attempts">Attempts and journal</a> &middot; <a href="${taskAddress(task.id)}#log">Log</a></p></section>`;
}

function impossible({ action, task }: ActionModel): string {
  const { status } = task;
  switch (action) {
    case 'cancel':
      return status === 'running'
        ? 'It was asked to stop already. Its page shows how it ends.'
        : `There is nothing to cancel: the task has ended, ${status}.`;
    case 'retry':
      return status === 'outcome-unknown'
        ? 'Its outcome is unknown: look at the outside world, then resolve it.'
        : `Only a failed, expired or cancelled task can be run again; this one is ${status}.`;
    case 'resolve':
      return `Only a task with unknown outcome or a late report can be resolved; this one is ${status}.`;
  }
}

const BUTTONS: Readonly<Record<TaskAction, string>> = {
  cancel: 'Cancel the task',
  retry: 'Run it again',
  resolve: 'Resolve it',
};
const REASONS: Readonly<Record<TaskAction, string>> = {
  cancel: 'Why (if you like)',
  retry: 'Why',
  resolve: 'What you found, and where',
};
