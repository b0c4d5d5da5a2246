import { durationWords } from '../core/duration-words.ts';
import { type HistorySpan, historyDefaults } from '../core/history-defaults.ts';
import {
  type Bar,
  failureShare,
  type History,
  type Latency,
  type TypeHistory,
} from '../core/type-history.ts';
import { shareWords } from '../core/type-words.ts';
import { withQuery } from './address.ts';
import { chart } from './chart.ts';
import { type Html, html, none } from './html.ts';
import { table } from './parts.ts';

/** A history as charts, each with its sentence, and as a table of numbers. */

/** @param charted with the chart, not the words alone. */
export function endedPart(history: History, of: TypeHistory | undefined, charted = true): Html {
  const words = endedWords(history, of);
  if (of === undefined || !charted) return html`<p class="faint">${words}</p>`;
  const bars = of.bars.map(({ succeeded, failed }) => ({ low: succeeded, high: failed }));
  return html`${chart(bars, 'outcomes', `Ended attempts, ${axis(history)}: ${words}.`, { most: `${most(of)} in ${durationWords(history.barMs)}`, from: fromWords(history) })}<p>${words}</p>`;
}

const most = ({ bars }: TypeHistory) =>
  Math.max(0, ...bars.map((bar) => bar.succeeded + bar.failed));

/** Where its time begins: `-1 h`. */
const fromWords = ({ barMs, fromMs, toMs }: History) =>
  `\u2212${durationWords(Math.ceil((toMs - fromMs) / barMs) * barMs)}`;

/** `about 312 ended, 4 failed or lost (1 %), at most 12 in a minute`. */
function endedWords(history: History, of: TypeHistory | undefined): string {
  const all = of === undefined ? 0 : of.succeeded + of.failed + of.other;
  if (of === undefined || all === 0) return 'none ended';
  const share = failureShare(of);
  const failed =
    of.failed === 0 || share === undefined
      ? 'none failed or lost'
      : `${of.failed} failed or lost (${shareWords(share)})`;
  const highest = Math.max(...of.bars.map((bar) => bar.succeeded + bar.failed + bar.other));
  return `${history.every > 1 ? 'about ' : ''}${all} ended, ${failed}, at most ${highest} in ${durationWords(history.barMs)}`;
}

export function latencyPart(
  history: History,
  of: TypeHistory | undefined,
  which: 'waited' | 'ran',
  charted = true,
): Html {
  const words = latencyWords(of?.[which]);
  if (of?.[which] === undefined || !charted) return html`<p class="faint">${words}</p>`;
  const bars = of.bars.map((bar) => {
    const { p50, p95 } = bar[which] ?? { p50: 0, p95: 0 };
    return { low: p50, high: p95 - p50 };
  });
  const longest = Math.max(...of.bars.map((bar) => bar[which]?.p95 ?? 0));
  const what = which === 'waited' ? 'Time from queued to started' : 'Time from started to ended';
  return html`${chart(bars, 'latency', `${what}, ${axis(history)}: ${words}.`, { most: durationWords(longest), from: fromWords(history) })}<p>${words}</p>`;
}

/** `half within 20 ms, 95 % within 4.2 s`; a number stays with its sign. */
function latencyWords(latency: Latency | undefined): string {
  if (latency === undefined) return 'none measured';
  return `half within ${durationWords(latency.p50)}, 95\u00a0% within ${durationWords(latency.p95)}`;
}

/** For those who cannot see the charts, and those who want to know exactly. */
export function numbersTable(history: History, of: TypeHistory): Html {
  const some = of.bars.filter((bar) => bar.succeeded + bar.failed + bar.other > 0 || bar.waited);
  if (some.length === 0) return none;
  const row = (bar: Bar) => {
    const from = new Date(bar.fromMs).toISOString();
    return {
      id: `from-${bar.fromMs}`,
      cells: [
        html`<time datetime="${from}">${from.slice(11, 16)}</time>`,
        bar.succeeded,
        bar.failed,
        bar.other,
        latencyPair(bar.waited),
        latencyPair(bar.ran),
      ],
    };
  };
  const caption = `From each time (UTC) on for ${durationWords(history.barMs)}; what is not listed had nothing`;
  return table(
    caption,
    [
      { head: 'From' },
      { head: 'Succeeded', figures: true },
      { head: 'Failed or lost', figures: true },
      { head: 'Cancelled or given back', figures: true },
      { head: 'Queued to started: half, 95 %' },
      { head: 'Started to ended: half, 95 %' },
    ],
    some.map(row),
    true,
  );
}

function latencyPair(latency: Latency | undefined): string {
  return latency === undefined
    ? '–'
    : `${durationWords(latency.p50)}, ${durationWords(latency.p95)}`;
}

/** Where the numbers come from, said under them. */
export function historyNote(history: History): Html {
  const longer = `Attempts that were claimed more than ${durationWords(historyDefaults.earlierMs)} before the first bar are not counted.`;
  const sample =
    history.every > 1
      ? `There were so many attempts that every ${ordinal(history.every)} of them was looked at: counts are estimates. `
      : '';
  return html`<p class="faint">${sample}${longer} Waiting is counted from when a task might have been claimed, for its latest attempt.</p>`;
}

function ordinal(n: number): string {
  const tens = n % 100;
  if (tens >= 11 && tens <= 13) return `${n}th`;
  return `${n}${['th', 'st', 'nd', 'rd'][n % 10] ?? 'th'}`;
}

const axis = ({ barMs, fromMs, toMs }: History) =>
  `one bar for each ${durationWords(barMs)} of the last ${durationWords(Math.ceil((toMs - fromMs) / barMs) * barMs)}`;

/** Which time is looked back on; it stands in the address. */
export function spanChoice(url: URL, chosen: HistorySpan): Html {
  const links = (Object.keys(historyDefaults.spans) as HistorySpan[]).map((name) => {
    const words = `Last ${historyDefaults.spans[name].words}`;
    const href = withQuery(url, { span: name === '1h' ? undefined : name });
    return html`<li><a href="${href}"${name === chosen && html` aria-current="true"`}>${words}</a></li>`;
  });
  return html`<nav class="spans" aria-label="Time looked back on"><ul>${links}</ul></nav>`;
}
