import type { TaskView } from '../../contract/index.ts';
import { withoutStop, sentence as withStop } from '../../contract/sentence.ts';
import { typeKey } from '../../contract/type-key.ts';
import type { EntryLine, TimelineItem } from '../../core/attempt-timeline.ts';
import { detailWords } from '../../core/detail-words.ts';
import { durationWords } from '../../core/duration-words.ts';
import { effectWords, isCatalogued, isResolved } from '../../core/failures.ts';
import { spoolShowCommand } from '../../core/spool-words.ts';
import { possibleActions, type TaskAction } from '../../core/task-actions.ts';
import {
  attemptWords,
  nextSteps,
  noteOf,
  notRepeatedWords,
  tookWords,
  undeliveredWords,
} from '../../core/task-words.ts';
import type { StoredLogLine } from '../../ports/store.ts';
import { withQuery } from '../address.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { code, facts, fold, notice, type Tone, userText, when } from '../parts.ts';
import { againAddress } from '../submit-again.ts';
import { taskAddress, workerAddress } from './addresses.ts';
import { type Comparison, comparisonHtml } from './comparison.ts';
import { logHtml } from './log.ts';
import { longText } from './long.ts';
import { labelFacts, progressHtml } from './rows.ts';
import { statusBadge, toneOf } from './status.ts';
import { type KeyNames, timelineHtml } from './timeline.ts';
import { valueHtml } from './value.ts';

/** One task, whole. */
export interface TaskModel {
  readonly url: URL;
  readonly nowMs: number;
  readonly task: TaskView;
  readonly timeline: readonly TimelineItem[];
  readonly keyNames: KeyNames;
  /** The journal begins before what is shown: go on with this `journal`. */
  readonly earlierJournal: number | undefined;
  readonly log: readonly StoredLogLine[];
  /** Lines there are before those that are shown: go on with this `log`. */
  readonly earlierLog: number | undefined;
  /** Where nobody serves it. */
  readonly comparison?: Comparison | undefined;
  readonly may: (action: TaskAction) => boolean;
  readonly maySubmit: boolean;
}

export function taskHtml(model: TaskModel): Html {
  const { task, nowMs, comparison, timeline, log, url } = model;
  const { input, result } = task;
  return html`<h1>${code(typeKey(task.type, task.schemaVersion))}</h1>
<p class="own-id"><span id="task-id">${code(task.id)}</span> <button type="button" class="copy" data-copy="task-id">Copy<span class="hidden"> the id</span></button></p>
<p id="status" class="status">${statusBadge(task)} <span dir="auto">${sentence(task)}</span></p>
${nextHtml(model)}
${actionsHtml(model)}
${comparison && comparisonHtml(comparison, model.maySubmit ? task : undefined)}
<div class="sides"><div class="lead">${task.status === 'running' && html`<section id="progress"><h2>Progress</h2><p>${progressHtml({ ...task, waitingFor: undefined }, nowMs)}</p></section>`}
${isResolved(task.error) ? resolvedHtml(task, timeline, nowMs) : errorHtml(task, nowMs)}</div>
<section id="facts"><h2>Facts</h2>${factsHtml(task, nowMs)}</section>
<div class="rest"><section id="values"><h2>Input and result</h2>
<div class="values">
${input !== undefined && valueHtml('input', 'Input', input, taskAddress(task.id, 'input.json'))}
${result !== undefined && valueHtml('result', 'Result', result, taskAddress(task.id, 'result.json'), true)}
${result === undefined && html`<p class="faint">No result${task.status === 'running' || task.status === 'queued' ? ' yet' : ''}.</p>`}
</div></section>
<section id="attempts"><h2>Attempts and journal</h2>
${model.earlierJournal !== undefined && html`<p><a href="${withQuery(url, { journal: String(model.earlierJournal) })}#attempts">Earlier entries</a></p>`}
${timelineHtml(timeline, nowMs, model.keyNames)}
${url.searchParams.has('journal') && html`<p><a href="${withQuery(url, { journal: undefined })}#attempts">The newest entries</a></p>`}
<p><a href="${taskAddress(task.id, 'journal.json')}" download>Download the journal</a></p>
</section>
<section id="log"><h2>Log</h2>
${log.length === 0 && html`<p class="faint">No line${task.attempts === 0 ? ' yet' : ''}.</p>`}
${model.earlierLog !== undefined && html`<p><a href="${withQuery(url, { log: String(model.earlierLog) })}#log">Earlier lines</a></p>`}
${log.length > 0 && logHtml(log)}
${url.searchParams.has('log') && html`<p><a href="${withQuery(url, { log: undefined })}#log">The newest lines</a></p>`}
${log.length > 0 && html`<p><a href="${taskAddress(task.id, 'log.txt')}" download>Download the log</a></p>`}
</section></div></div>`;
}

/** The status in words: what it means for this task now. */
export function sentence(task: TaskView): string {
  const { status, worker } = task;
  const note = noteOf(task);
  switch (status) {
    case 'queued':
      return note === '' ? 'It waits to be claimed.' : withStop(`It waits: ${note}`);
    case 'running':
      return `${task.attempts === 0 ? `It is claimed${worker === undefined ? '' : ` by ${worker}`} and has not begun` : `${worker === undefined ? 'It runs' : `It runs on ${worker}`}, ${attemptWords(task)}`}${task.waitingFor === undefined ? '' : `: ${withoutStop(task.waitingFor)}`}.`;
    case 'outcome-unknown':
      return `Whether its effect took place is not known. It ended${tookWords(task)}.`;
    default:
      return `It ended${tookWords(task)}, ${attemptWords(task)}.`;
  }
}

/** What somebody has to do, where somebody has. */
function nextHtml(model: TaskModel): Html | false {
  const { task, comparison, may } = model;
  const lines: HtmlValue[] = [];
  for (const step of nextSteps(task, true))
    switch (step.kind) {
      case 'late-report':
        lines.push(
          html`<p>Its worker reported ${code(step.op)} after the attempt had ended as lost. ${link(may('resolve'), task, 'resolve', 'Take it, or decide otherwise')}</p>`,
        );
        break;
      case 'resolve':
        lines.push(
          html`<p>Look at the outside world whether the effect took place, then say so: ${link(may('resolve'), task, 'resolve', 'resolve it')}.</p>`,
        );
        break;
      case 'correct-input':
        lines.push(
          html`<p>Its input does not fit: correct the fields named in the message and ${model.maySubmit ? html`<a href="${againAddress(task, task)}">submit it again</a>` : 'submit it again'}. <a href="/failures#INPUT_INVALID">More about it</a></p>`,
        );
        break;
      case 'refused-result':
        lines.push(
          html`<p>The result was refused, and is kept where ${step.worker === undefined ? 'its worker' : userText(step.worker)} runs. There: <kbd dir="ltr">${spoolShowCommand(task.id, step.spool)}</kbd></p>`,
        );
        break;
      case 'retry':
        lines.push(
          html`<p>${step.acceptRepeatedEffect ? 'Its effect may have taken place: look outside before you ' : task.error?.code === 'INPUT_INVALID' ? 'Only where the handler was mended: ' : 'Mend the cause, then '}${link(may('retry'), task, 'retry', 'run it again')}.</p>`,
        );
        break;
      case 'unserved':
      case 'look':
        break;
    }
  if (comparison) lines.push(html`<p>Nobody serves what it asks for.</p>`);
  if (lines.length === 0) return false;
  const tone: Tone = comparison ? 'warn' : toneOf(task.status) === 'bad' ? 'bad' : 'warn';
  return html`<div id="next">${notice(tone, lines)}</div>`;
}

function link(may: boolean, { id }: TaskView, action: TaskAction, words: string): HtmlValue {
  return may ? html`<a href="${taskAddress(id, action)}">${words}</a>` : words;
}

function actionsHtml({ task, may, maySubmit }: TaskModel): Html | false {
  const possible = possibleActions(task).filter((action) => may(action));
  if (possible.length === 0 && !maySubmit) return false;
  return html`<p class="actions" id="actions">${possible.map(
    (action) =>
      html`<a class="button ${BUTTON_STYLES[action]}" href="${taskAddress(task.id, action)}">${ACTIONS[action]}</a> `,
  )}${maySubmit && html`<a class="button" href="${againAddress(task, task)}">Submit again with this input</a>`}</p>`;
}

function errorHtml({ error, ...task }: TaskView, nowMs: number): Html | false {
  if (!error) return false;
  const { details = {}, code: name, message } = error;
  const effects = effectWords(error);
  // Issues stand in the message already.
  const { issues: _, ...told } = details;
  const once = notRepeatedWords({ ...task, error } as TaskView);
  const words = detailWords(told, (at) => at);
  return html`<section id="error"><h2>${task.status === 'queued' || task.status === 'running' ? 'Error of the attempt before' : 'Error'}</h2>
<p>${codeHtml(name, task)}${task.finishedAt !== undefined && html` ${when(task.finishedAt, nowMs)}`}</p>
${longText('error-message', message)}
${once !== undefined && html`<p>${once}</p>`}
${effects !== undefined && html`<p>${effects}</p>`}
${words.length > 0 && html`<ul>${words.map((word, index) => html`<li>${longText(`detail-${index}`, word)}</li>`)}</ul>`}
</section>`;
}

/** With a way to the catalogue where it is in there: a handler's own code is explained by its handler only. */
function codeHtml(name: string, { type, schemaVersion }: Pick<TaskView, 'type' | 'schemaVersion'>) {
  return isCatalogued(name)
    ? html`<a href="/failures#${name}">${code(name)}</a>`
    : html`${code(name)} <small class="faint">said by the handler of ${userText(typeKey(type, schemaVersion))}</small>`;
}

/** Somebody has looked: who, when and why, and no alarm. */
function resolvedHtml(task: TaskView, items: readonly TimelineItem[], nowMs: number): Html {
  const { event } =
    items.findLast(
      (item): item is EntryLine => item.kind === 'entry' && item.event.kind === 'resolved',
    ) ?? {};
  const { keyName, reason } = event?.data ?? {};
  const who = typeof keyName === 'string' ? keyName : (event?.by ?? 'an operator');
  return html`<section id="error"><h2>How it was resolved</h2>
<p>Resolved by ${userText(who)}: no effect.${task.finishedAt !== undefined && html` ${when(task.finishedAt, nowMs)}`}</p>
${longText('error-message', typeof reason === 'string' ? reason : (task.error?.message ?? ''))}
</section>`;
}

function factsHtml(task: TaskView, nowMs: number): Html {
  const { policy, effectKey, id, labels, traceparent, progress } = task;
  return html`${facts([
    ['Submitted', when(task.createdAt, nowMs)],
    ['Not before', task.notBeforeAt !== undefined && when(task.notBeforeAt, nowMs)],
    ['Started', task.startedAt !== undefined && when(task.startedAt, nowMs)],
    ['Finished', task.finishedAt !== undefined && when(task.finishedAt, nowMs)],
    ['Deadline', policy.deadlineAt !== null && when(policy.deadlineAt, nowMs)],
    [
      'Worker',
      task.worker !== undefined &&
        html`<a href="${workerAddress(task.worker)}">${userText(task.worker)}</a>`,
    ],
    ['Attempts', `${task.attempts} of ${policy.maxAttempts}${undeliveredWords(task)}`],
    ['Pool', code(task.pool)],
    ['Priority', task.priority],
    ['Effect key', effectKey !== id && code(effectKey)],
    ['Idempotency key', task.idempotencyKey !== undefined && code(task.idempotencyKey)],
    ['Trace', traceparent !== undefined && traceHtml(traceparent)],
    [
      'Last progress',
      task.status !== 'running' &&
        progress !== undefined &&
        html`${progress.percent !== undefined && `${Math.round(progress.percent)} % `}${progress.message !== undefined && userText(progress.message)} ${when(progress.at, nowMs)}`,
    ],
  ])}
${Object.keys(labels).length > 0 && html`<h3>Labels</h3>${labelFacts(labels)}`}
${fold(
  'policy',
  'How it is tried',
  facts([
    ['Attempts', policy.maxAttempts],
    [
      'Each attempt',
      policy.attemptTimeoutMs === null
        ? 'without a limit of time'
        : `at most ${durationWords(policy.attemptTimeoutMs)}`,
    ],
    ['Lease', durationWords(policy.leaseMs)],
    [
      'Between attempts',
      `${durationWords(policy.backoff.initialMs)}, times ${policy.backoff.factor}, at most ${durationWords(policy.backoff.maxMs)}`,
    ],
    [
      'In the queue',
      policy.queueTimeoutMs === null
        ? 'without a limit of time'
        : `at most ${durationWords(policy.queueTimeoutMs)}`,
    ],
    ['Waits for a lost worker', durationWords(policy.lostGraceMs)],
  ]),
)}`;
}

/** The id of the trace by itself is what other tools search for. */
function traceHtml(traceparent: string): Html {
  const [, trace] = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/.exec(traceparent) ?? [];
  return trace === undefined
    ? code(traceparent)
    : html`${code(trace)} <small class="faint">${code(traceparent)}</small>`;
}

/** What settles it stands out; what takes it away does not. */
const BUTTON_STYLES: Readonly<Record<TaskAction, string>> = {
  cancel: 'danger',
  retry: 'main',
  resolve: 'main',
};
export const ACTIONS: Readonly<Record<TaskAction, string>> = {
  cancel: 'Cancel it',
  retry: 'Run it again',
  resolve: 'Resolve it',
};
