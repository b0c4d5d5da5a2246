import { bounds } from '../contract/limits.ts';
import { defaultPolicy } from '../contract/policy.ts';
import { typeKey } from '../contract/type-key.ts';
import type { Field } from '../core/input-fields.ts';
import { offlineWords } from '../core/type-words.ts';
import { type Part, pager } from './address.ts';
import { type Html, type HtmlValue, html, none } from './html.ts';
import { code, counted, fold, notice } from './parts.ts';
import { controlOf, type Issues } from './submit-request.ts';
import { typeAddress } from './types-list.ts';

/** The form that submits a task of one type. */
export interface SubmitModel {
  readonly type: string;
  readonly schemaVersion: number;
  /** `undefined`: the input is typed as JSON. */
  readonly fields: readonly Field[] | undefined;
  /** What stands in the JSON area at first. */
  readonly jsonPreset: string;
  /** Of the form that was sent, to stay as it was typed; `undefined`: nothing was sent yet. */
  readonly sent: URLSearchParams | undefined;
  readonly issues: Issues;
  /** What is wrong with it as a whole. */
  readonly refused: HtmlValue;
  /** Whether a worker that is online serves it. */
  readonly served: boolean;
  /** Who served it and is offline, where nobody else does. */
  readonly gone: readonly string[];
  /** A name like it that is served. */
  readonly near: string | undefined;
  readonly pools: readonly string[];
  /** Idempotency key of this form: pressed twice it makes one task. */
  readonly once: string;
  readonly csrf: Html;
}

export function submitForm(model: SubmitModel): Html {
  const { type, schemaVersion, fields, once, csrf, served, near, gone } = model;
  const offline = offlineWords(gone);
  const name = typeKey(type, schemaVersion);
  return html`<h1>Submit ${code(name)}</h1>
<p><a href="/submit">Another type</a> &middot; <a href="${typeAddress(model)}">How this type is</a></p>
${summary(model)}
${
  !served &&
  notice(
    'warn',
    html`<p>No worker that is online serves <bdi>${name}</bdi>${offline !== undefined && html`: <bdi>${offline}</bdi>`}${near !== undefined && html`; <bdi>${near}</bdi>`}. It can be submitted: it waits until one comes.</p>`,
  )
}
<form method="post" action="/submit" class="submit">
${csrf}<input type="hidden" name="type" value="${type}"><input type="hidden" name="schemaVersion" value="${schemaVersion}"><input type="hidden" name="once" value="${once}">
${fields === undefined ? jsonArea(model, true) : html`<fieldset><legend>Input</legend>${fields.map((field, i) => inputField(model, field, i))}</fieldset>${jsonFold(model)}`}
${moreFold(model)}
<p class="actions"><button class="main">Submit</button></p>
</form>`;
}

/** What is wrong, with links to where it stands. */
function summary({ issues, refused, fields }: SubmitModel): Html {
  if (issues.size === 0) return refused === undefined ? none : notice('bad', refused);
  const lines = [...issues].flatMap(([control, messages]) => {
    const index = fields?.findIndex((field) => controlOf(field) === control) ?? -1;
    const title = fields?.[index]?.title ?? TITLES[control];
    const id = index >= 0 ? `field-${index}` : control;
    return messages.map((message) =>
      title === undefined
        ? html`<li><bdi>${message}</bdi></li>`
        : html`<li><a href="#${id}"><bdi>${title}</bdi></a> <bdi>${message}</bdi></li>`,
    );
  });
  return notice('bad', refused, html`<p>Nothing was submitted yet:</p><ul>${lines}</ul>`);
}

function inputField(model: SubmitModel, field: Field, index: number): Html {
  const control = controlOf(field);
  return labelled(model, {
    id: `field-${index}`,
    control,
    title: field.title,
    needed: field.required,
    help: [
      field.description !== undefined && html`<bdi>${field.description}</bdi> `,
      limitsWords(field),
      field.title !== field.name && html` <code><bdi>${field.name}</bdi></code>`,
    ],
    draw: (attributes) => {
      const value = model.sent?.get(control) ?? field.preset;
      switch (field.kind) {
        case 'choice':
          return html`<select${attributes}><option value="">${field.required ? 'choose …' : 'not given'}</option>${field.choices?.map((one) => html`<option value="${one.value}"${one.value === value && html` selected`}>${one.words}</option>`)}</select>`;
        case 'json':
        case 'long-text':
          return area(attributes, value, field.kind === 'json' ? 'code' : 'plain');
        default:
          return html`<input${attributes} value="${value}"${field.kind !== 'text' && html` inputmode="${field.kind === 'integer' ? 'numeric' : 'decimal'}"`}>`;
      }
    },
  });
}

/** `A whole number from 1 to 10.` */
function limitsWords({ kind, min, max, minChars, maxChars }: Field): string {
  const range = (low: number | undefined, high: number | undefined, unit: string) => {
    if (low !== undefined && high !== undefined) return ` from ${low} to ${high}${unit}`;
    if (low !== undefined) return ` from ${low}${unit}`;
    return high === undefined ? '' : ` up to ${high}${unit}`;
  };
  if (kind === 'json') return 'JSON.';
  if (kind === 'number') return `A number${range(min, max, '')}.`;
  if (kind === 'integer') return `A whole number${range(min, max, '')}.`;
  const chars = range(minChars || undefined, maxChars, ' characters');
  return chars === '' ? '' : `Text${chars}.`;
}

function jsonFold(model: SubmitModel): Html {
  const open = (model.sent?.get('json') ?? '').trim() !== '' || model.issues.has('json');
  return fold('as-json', 'Or type the whole input as JSON', jsonArea(model, false), open);
}

function jsonArea(model: SubmitModel, alone: boolean): Html {
  return labelled(model, {
    id: 'json',
    control: 'json',
    title: alone ? 'Input' : TITLES.json,
    needed: alone,
    help: alone
      ? 'JSON: the worker’s handler says what it takes.'
      : 'Where something stands here it is sent, and the fields above are not.',
    draw: (attributes) =>
      area(attributes, model.sent?.get('json') ?? (alone ? model.jsonPreset : ''), 'code'),
  });
}

const TITLES: Readonly<Record<string, string>> = {
  json: 'Input as JSON',
  pool: 'Pool',
  labels: 'Labels',
  idempotencyKey: 'Idempotency key',
  effectKey: 'Effect key',
  priority: 'Priority',
  notBeforeAt: 'Not before',
  maxAttempts: 'Attempts',
};

const MORE = [
  'pool',
  'labels',
  'priority',
  'notBeforeAt',
  'maxAttempts',
  'idempotencyKey',
  'effectKey',
];

function moreFold(model: SubmitModel): Html {
  const { sent, issues, pools } = model;
  const value = (name: string) => sent?.get(name) ?? '';
  const line = (name: string, help: HtmlValue, more: Html = none) =>
    labelled(model, {
      id: name,
      control: name,
      title: TITLES[name] ?? name,
      needed: false,
      help,
      draw: (attributes) => html`<input${attributes} value="${value(name)}"${more}>`,
    });
  const offered = pools.map((pool) => html`<option value="${pool}"></option>`);
  const inside = html`${line('pool', 'Of workers; default where it is left empty.', html` list="pools"`)}<datalist id="pools">${offered}</datalist>
${labelled(model, {
  id: 'labels',
  control: 'labels',
  title: 'Labels',
  needed: false,
  help: `One a line: name=value. At most ${bounds.labels}.`,
  draw: (attributes) => area(attributes, value('labels'), 'plain'),
})}
${line('priority', 'From -100 to 100, higher goes first; 0 where it is left empty.', html` inputmode="numeric"`)}
${line('notBeforeAt', 'An instant in UTC, such as 2026-12-01T08:00:00Z.')}
${line('maxAttempts', `At most so many; ${defaultPolicy.maxAttempts} where it is left empty.`, html` inputmode="numeric"`)}
${line('idempotencyKey', 'Every request with the same key is the same task. Where it is left empty this form has one of its own, so that pressing twice makes one task.')}
${line('effectKey', 'What the handler passes on as its idempotency key; the task’s id where it is left empty.')}`;
  const open = MORE.some((name) => value(name) !== '' || issues.has(name));
  return fold('more', 'Pool, labels, priority and more', inside, open);
}

interface Labelled {
  readonly id: string;
  readonly control: string;
  readonly title: string | undefined;
  readonly needed: boolean;
  readonly help: HtmlValue;
  /** @param attributes id, name and what it is described by. */
  readonly draw: (attributes: Html) => Html;
}

function labelled({ issues }: SubmitModel, one: Labelled): Html {
  const { id, control, title, needed, help, draw } = one;
  const wrong = issues.get(control) ?? [];
  const described = [`${id}-help`, ...(wrong.length > 0 ? [`${id}-error`] : [])].join(' ');
  const attributes = html` id="${id}" name="${control}" aria-describedby="${described}"${wrong.length > 0 && html` aria-invalid="true"`} autocomplete="off"`;
  return html`<div class="field"><label for="${id}"><bdi>${title ?? control}</bdi>${needed && html` <small>(needed)</small>`}</label>
${draw(attributes)}
${wrong.length > 0 && html`<p id="${id}-error" class="error">${wrong.map((message) => html`<bdi>${message}</bdi> `)}</p>`}<p id="${id}-help" class="faint">${help}</p></div>`;
}

function area(attributes: Html, value: string, kind: 'code' | 'plain'): Html {
  // The line break after the tag is none of the text: without it one that the text begins with would go.
  return html`<textarea${attributes} class="${kind}" dir="auto"${kind === 'code' && html` spellcheck="false"`}>
${value}</textarea>`;
}

/** Which type? */
export interface ChoiceModel {
  readonly part: Part<{
    readonly type: string;
    readonly schemaVersion: number;
    readonly workers: readonly string[];
  }>;
  readonly url: URL;
  /** What was asked for and is no type, and why. */
  readonly wrong:
    | { readonly type: string; readonly version: string; readonly why: string }
    | undefined;
}

export function typeChoice({ part, url, wrong }: ChoiceModel): Html {
  const lines = part.rows.map((one) => {
    const query = new URLSearchParams({ type: one.type, schemaVersion: String(one.schemaVersion) });
    const by =
      one.workers.length === 0
        ? 'nobody serves it now'
        : `served by ${counted(one.workers.length, 'worker')}`;
    return html`<li><a href="/submit?${query.toString()}">${code(typeKey(one.type, one.schemaVersion))}</a> <span class="faint">${by}</span></li>`;
  });
  return html`<h1>Submit a task</h1>
${wrong && notice('bad', html`<p><bdi>${wrong.type === '' ? 'A type' : wrong.type}</bdi> ${wrong.why}.</p>`)}
<h2>Of which type?</h2>
${lines.length > 0 ? html`<ul class="types">${lines}</ul>${pager(url, part.cursor)}` : html`<p>No worker has told of a type yet.</p>`}
<h2>Another type</h2>
<form method="get" action="/submit" class="narrow">
<p><label for="type">Type</label> <input id="type" name="type" value="${wrong?.type ?? ''}" required autocomplete="off" autocapitalize="none" spellcheck="false" aria-describedby="type-help"></p>
<p id="type-help" class="faint">Such as demo/hello; upper and lower case differ. Also one that nobody serves yet.</p>
<p><label for="schemaVersion">Version</label> <input id="schemaVersion" name="schemaVersion" value="${wrong?.version ?? '1'}" inputmode="numeric" required autocomplete="off"></p>
<p><button>Go on</button></p></form>`;
}
