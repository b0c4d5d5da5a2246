import type { TaskView } from '../../contract/index.ts';
import { taskStatuses } from '../../contract/tasks.ts';
import { typeKey } from '../../contract/type-key.ts';
import { cappedWords, numberWords } from '../../core/count-words.ts';
import { pager } from '../address.ts';
import { type Html, html, none } from '../html.ts';
import {
  badge,
  code,
  counted,
  fold,
  groupedTable,
  notice,
  userText,
  verdict,
  when,
} from '../parts.ts';
import type { AttentionItem, AttentionSection } from './attention.ts';
import { type Comparison, comparisonHtml } from './comparison.ts';
import { type FilterProblem, type Filters, isLimited, listAddress } from './filters.ts';
import { runningTable, taskTable } from './rows.ts';
import { words } from './status.ts';

/** The list of tasks: what needs a person, what runs, and the rest. */
export interface ListModel {
  readonly url: URL;
  readonly nowMs: number;
  readonly filters: Filters;
  readonly problems: readonly FilterProblem[];
  readonly counts: readonly StatusCount[];
  /** Absent where the page is about what was looked for. */
  readonly overview?: {
    readonly attention: readonly AttentionSection[];
    readonly running: readonly TaskView[];
    readonly runningInAll: number;
  };
  /** Of the one type that the filters name, where nobody serves it. */
  readonly comparison?: Comparison | undefined;
  /** That nobody serves a type that the filters name, where they leave its version or pool open. */
  readonly unserved?: string | undefined;
  readonly tasks: readonly TaskView[];
  readonly cursor: string | undefined;
  readonly maySubmit: boolean;
}

export interface StatusCount {
  readonly status: string;
  /** Absent: it was not counted, since other filters are in use, and the number would not be of what is found. */
  readonly count?: number;
  /** It was counted so far and no further; absent: the number is exact. */
  readonly most?: number;
}

export function listHtml(model: ListModel): Html {
  const { overview, comparison, filters, maySubmit } = model;
  const limited = isLimited(filters);
  return html`<div class="top"><h1>Tasks</h1>${maySubmit && html` <a class="button main" href="/submit">Submit a task</a>`}</div>
${comparison && html`${notice('warn', html`<p>Nobody serves what these tasks ask for.</p>`)}${comparisonHtml(comparison)}`}
${model.unserved !== undefined && notice('warn', html`<p dir="auto">${model.unserved}</p>`)}
${overview && attentionHtml(overview, model)}
${overview && overview.running.length > 0 && runningHtml(overview.running, overview.runningInAll, model.nowMs)}
<section id="list">
<h2>${limited ? 'Tasks found' : filters.cursor === '' ? 'All tasks' : 'Older tasks'}</h2>
${statusBar(model)}
${filterForm(model)}
${model.problems.length === 0 && found(model)}
${pager(model.url, model.cursor)}
</section>`;
}

/** How many there are of each status; each leads to them. Other filters stay: then it is the same search by status, without numbers. */
function statusBar({ counts, filters }: ListModel): Html {
  const others = { ...filters, cursor: '' };
  const only = filters.statuses.length === 1 ? filters.statuses[0] : undefined;
  const one = (href: string, text: string, current: boolean) =>
    html`<li><a href="${href}"${current && html` aria-current="true"`}>${text}</a></li>`;
  return html`<nav aria-label="Tasks by status"><ul class="jump statuses">
${one(listAddress({ ...others, statuses: [] }), 'all', filters.statuses.length === 0)}
${counts.map((of) => one(listAddress({ ...others, statuses: [of.status] }), statusWords(of), of.status === only))}
</ul></nav>`;
}

function statusWords({ status, count, most }: StatusCount): string {
  if (count === undefined) return words(status);
  return `${words(status)} ${most === undefined ? numberWords(count) : cappedWords(count, most)}`;
}

/** Whether anything is wrong, in one sentence, and then what it is. */
function attentionHtml(
  { attention, runningInAll }: NonNullable<ListModel['overview']>,
  { counts, nowMs }: ListModel,
): Html {
  const queued = counts.find(({ status }) => status === 'queued')?.count ?? 0;
  const rest = html`<small>${runningInAll > 0 ? html`<a href="#running">${numberWords(runningInAll)} running</a>` : 'none running'}, ${queued > 0 ? html`<a href="${listAddress({ statuses: ['queued'] })}">${numberWords(queued)} queued</a>` : 'none queued'}</small>`;
  if (attention.length === 0)
    return html`<section id="attention">${verdict('good', html`Nothing needs a person. `, rest)}</section>`;
  const things = attention.reduce((sum, { items }) => sum + items.length, 0);
  const more = attention.some((section) => section.more !== undefined);
  const tone = attention.some((section) => section.tone === 'bad') ? 'bad' : 'warn';
  return html`<section id="attention">${verdict(
    tone,
    html`${more && 'More than '}${counted(things, 'thing')} ${things === 1 && !more ? 'needs' : 'need'} a person. `,
    rest,
  )}<h2 class="hidden">Needs a person</h2>
${groupedTable(
  'What needs a person, the worst first',
  [
    { head: 'Task' },
    { head: 'Why' },
    { head: 'Since', figures: true },
    { head: 'What to do', plain: true },
  ],
  attention.map((section) => ({
    id: `attention-${section.kind}`,
    heading: html`${badge(section.tone, section.heading)}${section.more && html` <a href="${section.more.href}">${section.more.words}</a>`}`,
    rows: section.items.map((item) => ({
      id: item.id,
      tone: section.tone,
      cells: [
        itemName(item),
        html`<span dir="auto">${item.why}</span>`,
        when(item.at, nowMs),
        html`<a class="button main" href="${item.action.href}">${item.action.words}<span class="hidden">: ${typeKey(item.of.type, item.of.schemaVersion)}, ${item.beside}</span></a>`,
      ],
    })),
  })),
)}</section>`;
}

function itemName({ of, beside }: AttentionItem): Html {
  return html`<a href="${of.href}">${code(typeKey(of.type, of.schemaVersion))}</a> <small class="id">${userText(beside)}</small>`;
}

function runningHtml(tasks: readonly TaskView[], inAll: number, nowMs: number): Html {
  const more = inAll > tasks.length;
  return html`<section id="running"><h2>Running <small>${numberWords(Math.max(inAll, tasks.length))}</small></h2>
${runningTable(tasks, nowMs)}
${more && html`<p><a href="${listAddress({ statuses: ['running'] })}">All that is running</a></p>`}</section>`;
}

function found({ tasks, cursor, filters, nowMs, maySubmit }: ListModel): Html {
  if (tasks.length > 0)
    return taskTable(
      isLimited(filters) ? 'Newest first' : 'Newest first, whatever became of them',
      tasks,
      nowMs,
    );
  if (cursor !== undefined)
    return html`<p>None among those that were looked at so far; there are more: go on with the next page.</p>`;
  if (isLimited(filters)) return html`<p>No task fits. <a href="/tasks">Show all tasks</a></p>`;
  if (filters.cursor !== '') return html`<p>There are no older ones.</p>`;
  return html`<p>There is no task yet.${maySubmit && html` <a href="/submit">Submit the first one</a>`}</p>`;
}

/** Then the row of statuses says all that the form does, and the list is nearer. */
function isOneStatus(filters: Filters): boolean {
  return filters.statuses.length === 1 && !isLimited({ ...filters, statuses: [] });
}

/** A plain form that is sent as an address: what is found can be shared. */
function filterForm({ filters, problems }: ListModel): Html {
  const limited = isLimited(filters);
  const problem = (field: FilterProblem['field']) =>
    problems.filter((one) => one.field === field).map(({ says }) => says);
  const input = (
    field: Exclude<FilterProblem['field'], 'status'>,
    label: string,
    value: string,
    hint: string,
    list?: string,
  ) => {
    const wrong = problem(field);
    return html`<div><label for="filter-${field}">${label}</label><input id="filter-${field}" name="${field}" value="${value}" placeholder="${hint}" autocomplete="off" autocapitalize="off" spellcheck="false"${list !== undefined && html` list="${list}"`}${wrong.length > 0 && html` aria-invalid="true" aria-describedby="wrong-${field}"`}>${
      wrong.length > 0 &&
      html`<p class="error" id="wrong-${field}" dir="auto">${wrong.join(' ')}</p>`
    }</div>`;
  };
  const statusProblems = problem('status');
  const labels = [...filters.labels, ''];
  const form = html`<form method="get" action="/tasks" class="tasks-filter">
<fieldset><legend>Status</legend><div class="choices">${taskStatuses.map(
    (status) =>
      html`<label><input type="checkbox" name="status" value="${status}"${filters.statuses.includes(status) && html` checked`}>${words(status)}</label> `,
  )}</div>${statusProblems.map((says) => html`<p class="error" dir="auto">${says}</p>`)}
<div class="choices"><label><input type="checkbox" name="needs" value="attention"${filters.attention && html` checked`}>only what waits for a decision</label></div></fieldset>
<div class="filters">
${input('type', 'Type', filters.type, 'demo/hello or demo/hello@1')}
${input('version', 'Version', filters.version, '1')}
${input('pool', 'Pool', filters.pool, 'default')}
${labels.map(
  (label, index) =>
    html`<div><label for="filter-label-${index}">${index === 0 ? 'Label' : 'and label'}</label><input id="filter-label-${index}" name="label" value="${label}" placeholder="name=value" dir="auto" autocomplete="off"></div>`,
)}
${input('since', 'Submitted since', filters.since, '24h or 2026-12-01T08:00:00Z', 'ages')}
${input('until', 'Submitted until', filters.until, '1h or an instant', 'ages')}
<datalist id="ages"><option value="15m"><option value="1h"><option value="24h"><option value="7d"></datalist>
<div class="actions"><button class="main">Show</button>${limited && html` <a href="/tasks">Show all</a>`}</div>
</div></form>`;
  return html`${problems.length > 0 && notice('warn', html`<p>A filter cannot be used, so nothing is listed: correct it below.</p>`)}${fold(
    'filters',
    limited ? 'Filters, in use' : 'Filters',
    form,
    (limited && !isOneStatus(filters)) || problems.length > 0,
  )}${none}`;
}
