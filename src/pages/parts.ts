import { sentence } from '../contract/sentence.ts';
import { durationWords } from '../core/duration-words.ts';
import { type Html, type HtmlValue, html, none } from './html.ts';

/** Small parts that all pages are made of. */

/** What somebody else wrote, in a line of ours: its direction does not reach out of it. */
export function userText(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}

/** What somebody else wrote, as a paragraph of its own; line breaks are kept. */
export function userBlock(text: string): Html {
  return html`<p class="user" dir="auto">${text}</p>`;
}

/** Ids, types, codes: they wrap anywhere, and are literal. */
export function code(text: string | number): Html {
  return html`<code><bdi>${text}</bdi></code>`;
}

/**
 * How something is, in words: each tone has a mark of its own, so that colour tells nothing alone.
 * `good` done, `busy` going on, `wait` nobody has to act, `warn` somebody should look, `bad` somebody has to act, `off` over and no matter.
 */
export type Tone = 'good' | 'busy' | 'wait' | 'warn' | 'bad' | 'off';

export function badge(tone: Tone, words: string): Html {
  return html`<span class="badge ${tone}"><span class="mark" aria-hidden="true">${MARKS[tone]}</span>${words}</span>`;
}

const MARKS: Readonly<Record<Tone, string>> = {
  good: '✓',
  busy: '▶',
  wait: '○',
  warn: '▲',
  bad: '✕',
  off: '–',
};

/** A box that says something: what happened, what to do. `bad` and `warn` are read out at once where a script shows them anew. */
export function notice(tone: Tone, ...words: HtmlValue[]): Html {
  return html`<div class="notice ${tone}"><span class="mark" aria-hidden="true">${MARKS[tone]}</span><div>${words}</div></div>`;
}

/** What stands without a subject, as a sentence of its own; a type that it begins with stays as it is written. */
export function asSentence(says: string): string {
  const named = /^\S+@\d+ /.test(says);
  return sentence(named ? says : says.charAt(0).toUpperCase() + says.slice(1));
}

/** The one sentence that a page begins with: whether anything is wrong. */
export function verdict(tone: Tone, ...words: HtmlValue[]): Html {
  return html`<p class="verdict ${tone}"><span class="mark" aria-hidden="true">${MARKS[tone]}</span><span>${words}</span></p>`;
}

/**
 * A moment as the time since then or until then; the exact one shows on hover and stands in the markup.
 * @param at milliseconds since 1970, or an instant of the contract. @param nowMs of the same clock (`request.nowMs`).
 */
export function when(at: number | string | undefined, nowMs: number): Html {
  const atMs = typeof at === 'string' ? Date.parse(at) : at;
  if (atMs === undefined || !Number.isFinite(atMs)) return none;
  const exact = new Date(atMs).toISOString();
  return html`<time datetime="${exact}" title="${exactWords(exact)}">${sinceWords(atMs, nowMs)}</time>`;
}

/** `3 min ago`, `in 20 s`, `just now`; older than a week: the day. */
function sinceWords(atMs: number, nowMs: number): string {
  const since = nowMs - atMs;
  if (Math.abs(since) < 1_000) return 'just now';
  if (Math.abs(since) >= WEEK_MS) return new Date(atMs).toISOString().slice(0, 10);
  const words = durationWords(Math.floor(Math.abs(since) / 1_000) * 1_000).split(' ');
  // One unit is enough at a look: "3 h 12 min" is "3 h".
  const rough = words.slice(0, 2).join(' ');
  return since >= 0 ? `${rough} ago` : `in ${rough}`;
}

const exactWords = (exact: string) => `${exact.slice(0, 10)} ${exact.slice(11, 23)} UTC`;
const WEEK_MS = 7 * 86_400_000;

/** `<time>` of a length: `4.2 s`. */
export function duration(ms: number): Html {
  return html`<time datetime="PT${(Math.max(0, ms) / 1_000).toFixed(3)}S" title="${Math.round(ms)} ms">${durationWords(ms)}</time>`;
}

/** The beginning of a text that may be long, for a row; its own page has all of it. */
export function brief(text: string): string {
  const chars = [...text];
  return chars.length > BRIEF_CHARS ? `${chars.slice(0, BRIEF_CHARS).join('')}\u2026` : text;
}

const BRIEF_CHARS = 240;

/** `1 task`, `3 tasks`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/**
 * A fold that stays as it is when the page is updated.
 * @param id its own on this page.
 */
export function fold(id: string, summary: HtmlValue, inside: HtmlValue, open = false): Html {
  return html`<details id="${id}"${open && html` open`}><summary>${summary}</summary>${inside}</details>`;
}

/** Pairs of a name and a value; those without a value are left out. */
export function facts(pairs: readonly (readonly [name: string | Html, value: HtmlValue])[]): Html {
  const shown = pairs.filter(
    ([, value]) => value !== undefined && value !== null && value !== false && value !== none,
  );
  return html`<dl class="facts">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export interface Column {
  readonly head: string;
  /** Its head is not shown where rows are cards. */
  readonly plain?: boolean;
  /** Figures stand at the right. */
  readonly figures?: boolean;
}

export interface Row {
  /** Its own on this page: the row keeps its place, focus and open folds when the page is updated. */
  readonly id: string;
  readonly cells: readonly HtmlValue[];
  readonly tone?: Tone;
}

/** Rows that belong together, under a heading of their own. */
export interface RowGroup {
  /** Its own on this page. */
  readonly id: string;
  readonly heading: HtmlValue;
  readonly rows: readonly Row[];
}

/**
 * A table whose rows become cards where it is narrow. The first cell of a row names it.
 * @param captionSeen where no heading says it already; else only screen readers have it.
 */
export function table(
  caption: string,
  columns: readonly Column[],
  rows: readonly Row[],
  captionSeen = false,
): Html {
  return framed(caption, columns, html`<tbody>${tableRows(columns, rows)}</tbody>`, captionSeen);
}

/** The same with groups of rows: the columns are named once. */
export function groupedTable(
  caption: string,
  columns: readonly Column[],
  groups: readonly RowGroup[],
): Html {
  const bodies = groups.map(
    ({ id, heading, rows }) =>
      html`<tbody id="${id}"><tr class="group"><th scope="rowgroup" colspan="${columns.length}">${heading}</th></tr>${tableRows(columns, rows)}</tbody>`,
  );
  return framed(caption, columns, html`${bodies}`, false);
}

function framed(caption: string, columns: readonly Column[], body: Html, seen: boolean): Html {
  const head = columns.map(
    ({ head, figures }) => html`<th scope="col"${figures && html` class="figures"`}>${head}</th>`,
  );
  return html`<table class="cards"><caption${!seen && html` class="hidden"`}>${caption}</caption><thead><tr>${head}</tr></thead>${body}</table>`;
}

function tableRows(columns: readonly Column[], rows: readonly Row[]): readonly Html[] {
  return rows.map(({ id, cells, tone }) => {
    const inner = cells.map((cell, index) => {
      const { head = '', plain, figures } = columns[index] ?? { head: '' };
      const label = plain ? none : html` data-head="${head}"`;
      const kind = figures ? html` class="figures"` : none;
      return index === 0
        ? html`<th scope="row"${kind}>${cell}</th>`
        : html`<td${label}${kind}>${cell}</td>`;
    });
    return html`<tr id="${id}"${tone && html` class="row-${tone}"`}>${inner}</tr>`;
  });
}
