import type { WorkerView } from '../contract/index.ts';
import { typeKey } from '../contract/type-key.ts';
import { durationWords } from '../core/duration-words.ts';
import { type HistorySpan, historyDefaults } from '../core/history-defaults.ts';
import type { Tally } from '../core/nearest.ts';
import { pageDefaults } from '../core/page-defaults.ts';
import type { History, TypeHistory } from '../core/type-history.ts';
import {
  careGroups,
  type Served,
  type Serving,
  servedOf,
  servingByType,
  type TypeNote,
  type TypeView,
  typeNotes,
  withNearMiss,
} from '../core/type-words.ts';
import { notServedByType } from '../core/waiting-for.ts';
import type { QueueGroup } from '../ports/store-rows.ts';
import { address, type Part, pagePart, pager } from './address.ts';
import { endedPart, historyNote, latencyPart, spanChoice } from './history-parts.ts';
import { type Html, html, none } from './html.ts';
import {
  asSentence,
  brief,
  code,
  counted,
  duration,
  notice,
  type Row,
  type Tone,
  table,
  verdict,
} from './parts.ts';

/** A type with all that is known of it now. */
export interface TypeSight {
  readonly view: TypeView;
  readonly name: string;
  readonly serving: readonly Serving[];
  /** Who has a file for it and cannot serve it, and why. */
  readonly broken?: string | undefined;
  readonly notes: readonly TypeNote[];
  readonly past: TypeHistory | undefined;
}

/** What is known of a project's types. */
export interface TypesSeen {
  readonly types: readonly TypeView[];
  readonly workers: readonly WorkerView[];
  readonly groups: readonly QueueGroup[];
  readonly history: History;
  readonly span: HistorySpan;
}

/** Types that wait, are served or ran in that time; what needs a person first. What comes near is not looked for yet. */
function typeSights(seen: TypesSeen): TypeSight[] {
  const { types, history } = seen;
  const known = new Set(types.map((view) => typeKey(view.type, view.schemaVersion)));
  const gone = [...history.types].filter(([name]) => !known.has(name));
  const sightOf = sightMaker(seen);
  return [...types, ...gone.map(([, past]) => quiet(past))]
    .map(sightOf)
    .sort((a, b) => urgency(a) - urgency(b) || (a.name < b.name ? -1 : 1));
}

/** Of one type, with what comes near it. */
export function typeSight(view: TypeView, seen: TypesSeen): TypeSight {
  return withNear(sightMaker(seen)(view), servedOf(seen.types));
}

function sightMaker({ workers, groups, history, span }: TypesSeen): (view: TypeView) => TypeSight {
  const byType = servingByType(workers);
  const notServed = notServedByType(workers);
  const waiting = new Map<string, QueueGroup[]>();
  for (const group of groups) {
    const name = typeKey(group.type, group.schemaVersion);
    const same = waiting.get(name);
    if (same === undefined) waiting.set(name, [group]);
    else same.push(group);
  }
  return (view) => {
    const name = typeKey(view.type, view.schemaVersion);
    const [past, serving] = [history.types.get(name), byType.get(name) ?? []];
    const broken = serving.length === 0 ? notServed.get(name) : undefined;
    const notes = typeNotes(view, {
      ...{ serving, broken },
      groups: waiting.get(name) ?? [],
      recent: past,
      span: historyDefaults.spans[span].words,
    });
    return { view, name, serving, broken, notes, past };
  };
}

function withNear(sight: TypeSight, served: Served, tally?: Tally): TypeSight {
  return { ...sight, notes: withNearMiss(sight.view, sight.notes, served, tally) };
}

/** Of a type that nobody serves and nothing waits for. */
export function quiet({ type, schemaVersion }: Pick<TypeView, 'type' | 'schemaVersion'>): TypeView {
  return {
    type,
    schemaVersion,
    pools: [],
    queued: 0,
    running: 0,
    oldestQueuedMs: null,
    workers: [],
    slots: 0,
    effectSafety: [],
  };
}

function urgency({ notes: [first], view }: TypeSight): number {
  if (first?.weight === 'act') return 0;
  if (first?.weight === 'look') return 1;
  return view.queued + view.running > 0 ? 2 : 3;
}

export interface TypesModel {
  /** Those of this page. */
  readonly part: Part<TypeSight>;
  /** Those of all pages. */
  readonly sights: readonly TypeSight[];
  readonly history: History;
  readonly span: HistorySpan;
  readonly url: URL;
}

/** The page of a list that an address asks for, with what comes near its types. */
export function typesPart(
  seen: TypesSeen,
  url: URL,
  tally?: Tally,
): Pick<TypesModel, 'part' | 'sights'> {
  const sights = typeSights(seen);
  const part = pagePart(sights, url, pageDefaults.typeRows);
  const served = servedOf(seen.types);
  const rows = part.rows.map((sight) => withNear(sight, served, tally));
  return { part: { ...part, rows }, sights };
}

export function typesList({ part, sights, history, span, url }: TypesModel): Html {
  const body =
    part.rows.length === 0
      ? html`<p>No type is known yet: no worker has come and no task waits. <a href="/submit">Submit a task</a>, or start a worker: ${code('interlock worker --handlers ./handlers')}</p>`
      : html`${table(
          'Types of tasks, what needs somebody first',
          [
            { head: 'Type', plain: true },
            { head: 'Queued', figures: true },
            { head: 'Running', figures: true },
            { head: 'Slots' },
            { head: `Ended in the last ${historyDefaults.spans[span].words}` },
            { head: 'Queued to started' },
            { head: 'Started to ended' },
            { head: 'Effect safety' },
          ],
          part.rows.map((sight, i) => row(sight, history, span, i < historyDefaults.charted)),
        )}${pager(url, part.cursor)}${historyNote(history)}`;
  return html`<h1>Task types</h1>${verdictOf(sights)}${spanChoice(url, span)}${body}`;
}

/** Whether one of them needs somebody. */
function verdictOf(sights: readonly TypeSight[]): Html {
  const count = (weight: TypeNote['weight']) =>
    sights.filter(({ notes: [first] }) => first?.weight === weight).length;
  const [act, look] = [count('act'), count('look')];
  if (act > 0)
    return verdict(
      'bad',
      `${counted(act, 'type')} ${act === 1 ? 'needs' : 'need'} somebody${look > 0 ? `; ${look} more should be looked at` : ''}.`,
    );
  if (look > 0) return verdict('warn', `${counted(look, 'type')} should be looked at.`);
  return sights.length === 0 ? none : verdict('good', 'All types are well.');
}

function row(sight: TypeSight, history: History, span: HistorySpan, charted: boolean): Row {
  const { view, name, notes, past, serving } = sight;
  const [worst] = notes;
  return {
    id: `type-${name}`,
    ...(worst && { tone: TONES[worst.weight] }),
    cells: [
      html`<a href="${typeAddress(view, span)}">${code(name)}</a>${notes.map(noteLine)}`,
      html`${view.queued}${view.oldestQueuedMs !== null && html` <small class="id">oldest ${duration(view.oldestQueuedMs)}</small>`}`,
      view.running,
      slotsWords(sight),
      endedPart(history, past, charted),
      latencyPart(history, past, 'waited', charted),
      latencyPart(history, past, 'ran', charted),
      serving.length === 0
        ? 'not known'
        : careGroups(serving).map(({ care }) => html`<p>${care}</p>`),
    ],
  };
}

export const TONES: Readonly<Record<TypeNote['weight'], Tone>> = {
  act: 'bad',
  look: 'warn',
  wait: 'wait',
};

function noteLine({ says, weight }: TypeNote): Html {
  return html`<p class="note ${TONES[weight]}"><bdi>${brief(says)}</bdi></p>`;
}

/** With what to do next. */
export function noteBox({ says, next, weight }: TypeNote): Html {
  return notice(
    TONES[weight],
    html`<p><bdi>${asSentence(says)}</bdi></p>`,
    next === undefined ? none : html`<p><bdi>${next}</bdi></p>`,
  );
}

/** `6: garage 4, attic 2`; a worker's slots serve all of its types. */
export function slotsWords({ view, serving }: Pick<TypeSight, 'view' | 'serving'>): Html {
  if (serving.length === 0) return html`none`;
  const shown = serving.slice(0, SHOWN).map(({ worker: { workerId, slots } }, i) => {
    const link = html`<a href="${address('/workers/{id}', { id: workerId })}"><bdi>${workerId}</bdi></a> ${slots.max}`;
    return i === 0 ? link : html`, ${link}`;
  });
  const more = serving.length - SHOWN;
  return html`${view.slots}: ${shown}${more > 0 && ` and ${counted(more, 'more worker')}`}`;
}

const SHOWN = 4;

/** The page of one type. */
export function typeAddress(
  { type, schemaVersion }: Pick<TypeView, 'type' | 'schemaVersion'>,
  span: HistorySpan = '1h',
): string {
  return address('/task-type', {}, { type, schemaVersion, span: span === '1h' ? undefined : span });
}

/** In words for a heading: `12 queued, the oldest for 3 min; 2 running`. */
export function queueWords({ queued, running, oldestQueuedMs }: TypeView): string {
  const oldest = oldestQueuedMs === null ? '' : `, the oldest for ${durationWords(oldestQueuedMs)}`;
  return `${queued} queued${oldest}; ${running} running`;
}
