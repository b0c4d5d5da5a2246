import { withoutStop } from '../contract/sentence.ts';
import type { HistorySpan } from '../core/history-defaults.ts';
import type { History } from '../core/type-history.ts';
import { offlineWords } from '../core/type-words.ts';
import { stateWords } from '../core/worker-words.ts';
import { address } from './address.ts';
import { endedPart, historyNote, latencyPart, numbersTable, spanChoice } from './history-parts.ts';
import { type Html, html, none } from './html.ts';
import { code, facts, fold, notice, table, userText } from './parts.ts';
import { noteBox, queueWords, slotsWords, type TypeSight } from './types-list.ts';

/** One type and version: what waits, who serves it, how it went. */
export interface TypeModel {
  readonly sight: TypeSight;
  /** Who served it and is offline. */
  readonly gone?: readonly string[];
  /** A name like it that is served. */
  readonly near?: string | undefined;
  readonly history: History;
  readonly span: HistorySpan;
  readonly url: URL;
  /** Whether whoever looks may submit a task of it. */
  readonly maySubmit: boolean;
}

export function typePage({ sight, gone, near, history, span, url, maySubmit }: TypeModel): Html {
  const { view, name, past, notes } = sight;
  const { type, schemaVersion } = view;
  const of = { type, schemaVersion };
  return html`<h1>${code(name)}</h1>
${notes.map(noteBox)}
${unknownNote(sight, gone, near)}
${facts([
  ['Queue', queueWords(view)],
  ['Slots', slotsWords(sight)],
  ['Pools', view.pools.length > 0 && userText(view.pools.join(', '))],
])}
<p class="actions">${maySubmit && html`<a class="button" href="${address('/submit', {}, of)}">Submit one</a> `}<a href="${address('/tasks', {}, of)}">Its tasks</a></p>
<h2>How it went</h2>
${spanChoice(url, span)}
<div class="charts">
<section><h3>Ended</h3>${endedPart(history, past)}</section>
<section><h3>From queued to started</h3>${latencyPart(history, past, 'waited')}</section>
<section><h3>From started to ended</h3>${latencyPart(history, past, 'ran')}</section>
</div>
${past ? fold('numbers', 'The numbers', numbersTable(history, past)) : none}
${historyNote(history)}
<h2>Workers that serve it</h2>
${workersTable(sight)}
<h2>Input</h2>
${schemaPart(view.inputSchema)}`;
}

/** Nobody has it and nothing waits for it: a name that was mistyped looks like that. */
function unknownNote(
  { view, serving, name, broken }: TypeSight,
  gone: readonly string[] = [],
  near: string | undefined,
): Html {
  if (serving.length > 0 || view.queued > 0 || view.running > 0) return none;
  const why = broken === undefined ? (offlineWords(gone) ?? near) : withoutStop(broken);
  return notice(
    'warn',
    html`<p>No worker that is online serves <bdi>${name}</bdi>, and no task of it waits or runs${why !== undefined && html`: <bdi>${why}</bdi>`}.${why === undefined && ' Is the name as you meant it?'} <a href="/task-types">All types</a></p>`,
  );
}

function workersTable({ serving }: TypeSight): Html {
  if (serving.length === 0) return html`<p>No worker that is online serves it.</p>`;
  const rows = serving.map(({ worker, care }) => ({
    id: `worker-${worker.workerId}`,
    cells: [
      html`<a href="${address('/workers/{id}', { id: worker.workerId })}"><bdi>${worker.workerId}</bdi></a>`,
      userText(stateWords(worker)),
      `${worker.slots.busy} of ${worker.slots.max}`,
      care,
      userText(worker.pools.join(', ')),
    ],
  }));
  const columns = [
    { head: 'Worker', plain: true },
    { head: 'State' },
    { head: 'Slots at work', figures: true },
    { head: 'Effect safety as it declares it' },
    { head: 'Pools' },
  ];
  return table('Their slots are for all types that they serve', columns, rows, true);
}

function schemaPart(schema: unknown): Html {
  if (schema === undefined)
    return html`<p>No worker declares a schema for its input: any JSON value.</p>`;
  const text = JSON.stringify(schema, null, 2);
  const shown = text.length > SCHEMA_CHARS ? `${text.slice(0, SCHEMA_CHARS)}\n…` : text;
  return fold('schema', 'Its JSON Schema', html`<pre tabindex="0"><code>${shown}</code></pre>`);
}

/** The worker shows none beyond 64 KB anyway. */
const SCHEMA_CHARS = 65_536;
