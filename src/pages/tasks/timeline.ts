import type { TaskEvent } from '../../contract/index.ts';
import type { AttemptSpan, TimelineItem } from '../../core/attempt-timeline.ts';
import { durationWords } from '../../core/duration-words.ts';
import { dataWords } from '../../core/journal-words.ts';
import { type Html, html, none } from '../html.ts';
import { badge, code, type Tone, userText, when } from '../parts.ts';
import { workerAddress } from './addresses.ts';
import { longText } from './long.ts';

/** The journal as a timeline of attempts, with what people and the control plane did between them. */
export function timelineHtml(
  items: readonly TimelineItem[],
  nowMs: number,
  keyNames: KeyNames = new Map(),
): Html {
  return html`<ol class="timeline">${items.map((item) =>
    item.kind === 'attempt' ? attemptHtml(item, nowMs) : entryHtml(item.event, nowMs, keyNames),
  )}</ol>`;
}

/** Names of keys by what an entry says did it (`key:key_01...`). */
export type KeyNames = ReadonlyMap<string, string>;

function attemptHtml(attempt: AttemptSpan, nowMs: number): Html {
  const { fence, number, workerId, state, effectSafety, effectGate, codeHash } = attempt;
  const [tone, words] = ENDS[state] ?? (['wait', state] as const);
  const phases: Html[] = [];
  const phase = (text: string, title?: string) =>
    phases.push(html`<li${title !== undefined && html` title="${title}"`}>${text}</li>`);
  if (attempt.waitedMs !== undefined) phase(`waited ${durationWords(attempt.waitedMs)}`);
  if (attempt.beganMs !== undefined) phase(`began after ${durationWords(attempt.beganMs)}`);
  if (attempt.ranMs !== undefined)
    phase(
      `${attempt.endedAt === undefined ? 'running for' : 'ran'} ${durationWords(attempt.ranMs)}`,
    );
  if (effectSafety !== undefined) phase(effectSafety, 'Effect safety, as its worker declared it');
  if (attempt.gatePassed)
    phase(
      `past its gate${effectGate === undefined ? '' : ` (${effectGate})`}`,
      'Its effect may have taken place',
    );
  if (attempt.notCalled) phase('handler not called', 'No effect of it took place');
  phase(`fence ${fence}`);
  if (codeHash !== undefined) phase(`code ${codeHash.slice(0, CODE_CHARS)}`, codeHash);
  return html`<li id="attempt-${fence}" class="${tone}">
<h3>${number === undefined ? 'Attempt' : `Attempt ${number}`}${workerId !== undefined && html` on <a href="${workerAddress(workerId)}">${userText(workerId)}</a>`} ${badge(tone, words)}</h3>
<p class="faint">${attempt.claimedAt !== undefined && html`claimed ${when(attempt.claimedAt, nowMs)}`}${attempt.endedAt !== undefined && html`${attempt.claimedAt !== undefined && ', '}over ${when(attempt.endedAt, nowMs)}`}</p>
<ul class="phases">${phases}</ul>
${attempt.why !== undefined && longText(`why-${fence}`, attempt.why)}
${attempt.againAt !== undefined && html`<p>Queued again${Date.parse(attempt.againAt) > nowMs && ', to be claimed'} ${when(attempt.againAt, nowMs)}.</p>`}
${attempt.late && html`<p>${badge('warn', 'late report')} It reported ${code(attempt.late.op)} ${when(attempt.late.at, nowMs)}, after its end.</p>`}
</li>`;
}

function entryHtml(
  { seq, at, kind, by, data }: TaskEvent,
  nowMs: number,
  keyNames: KeyNames,
): Html {
  const { keyName = keyNames.get(by), reason, status: _, ...rest } = data;
  const [tone, words] = ENTRIES[kind] ?? (['wait', kind] as const);
  const facts = dataWords(rest, (instant) => instant);
  const who =
    typeof keyName === 'string'
      ? html`by <span title="${by}">${userText(keyName)}</span>`
      : html`by ${byHtml(by)}`;
  return html`<li id="entry-${seq}" class="${tone}">
<h3>${words} <small>${when(at, nowMs)} ${who}</small></h3>
${facts.length > 0 ? html`<p class="faint" dir="auto">${facts.join(', ')}</p>` : none}
${typeof reason === 'string' && longText(`reason-${seq}`, reason)}
</li>`;
}

/** An id by its end, which tells keys apart; the whole shows on hover. */
function byHtml(by: string): Html {
  return by.startsWith('key:') && by.length > BY_CHARS
    ? html`<span title="${by}">key &hellip;${by.slice(-BY_END)}</span>`
    : userText(by);
}

const BY_CHARS = 20;
const BY_END = 6;

/** By the kind of the entry that ended the attempt. */
const ENDS: Readonly<Record<string, readonly [Tone, string]>> = {
  leased: ['busy', 'claimed, not begun'],
  started: ['busy', 'running'],
  succeeded: ['good', 'succeeded'],
  failed: ['bad', 'failed'],
  unknown: ['bad', 'outcome unknown'],
  cancelled: ['off', 'cancelled'],
  lost: ['bad', 'lost'],
  released: ['warn', 'given back'],
  expired: ['warn', 'expired'],
};
const ENTRIES: Readonly<Record<string, readonly [Tone, string]>> = {
  submitted: ['wait', 'Submitted'],
  'cancel-requested': ['warn', 'Asked to stop'],
  cancelled: ['off', 'Cancelled'],
  expired: ['warn', 'Expired'],
  retried: ['wait', 'To be run again'],
  resolved: ['wait', 'Resolved'],
};
const CODE_CHARS = 12;
