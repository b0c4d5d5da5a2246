import { typeKey } from '../../contract/index.ts';
import type { EntryAnswer, SpoolEntry } from '../../spool/index.ts';
import { entryId } from '../spool-entries.ts';
import type { Style } from '../style.ts';
import type { Column } from '../table.ts';
import { age } from './time-words.ts';

/** Columns of `spool list`. @param entries all of them: what is the same for all is no column. */
export function entryColumns(
  entries: readonly SpoolEntry[],
  style: Style,
  wallMs: number,
): Column<SpoolEntry>[] {
  const columns: (Column<SpoolEntry> | false)[] = [
    {
      title: 'STATE',
      cell: ({ state }) => state,
      paint: ({ state }, text) => statePaint(style, state)(text),
    },
    { title: 'AGE', cell: ({ at }) => (at === undefined ? '' : age(at, wallMs)), align: 'right' },
    { title: 'TASK', cell: (entry) => entry.taskId ?? entryId(entry) },
    { title: 'TYPE', cell: typeOf },
    { title: 'REPORT', cell: ({ op }) => op ?? '' },
    { title: 'BYTES', cell: ({ bytes }) => (bytes === 0 ? '' : String(bytes)), align: 'right' },
    onePlace(entries) === undefined && { title: 'FOR', cell: placeOf },
    { title: 'NOTE', cell: noteOf },
  ];
  return columns.filter((column) => column !== false);
}

/** What is known of an entry, in one clause. */
export function noteOf(entry: SpoolEntry): string {
  const { state, why, answer, followUp, begun, progress } = entry;
  if (why !== undefined) return why;
  const standsIn = followUp ? 'stands in for one that was refused' : '';
  if (state === 'owed') return standsIn;
  if (state === 'running') {
    const percent =
      progress?.percent === undefined ? undefined : `${Math.round(progress.percent)} %`;
    return [begun ? 'begun' : 'not begun', percent, progress?.message].filter(Boolean).join(', ');
  }
  return [answerWords(answer), standsIn].filter(Boolean).join('; ');
}

/** `409 STALE_ATTEMPT: … (kept as a late report)`. */
export function answerWords(answer: EntryAnswer | undefined): string {
  if (!answer) return '';
  const { status, code, says, recorded } = answer;
  const head = [status, code].filter((part) => part !== undefined).join(' ');
  const kept = recorded ? ' (kept as a late report)' : '';
  return `${[head, says].filter(Boolean).join(': ')}${kept}`;
}

/** `project default at http://127.0.0.1:7420`; empty for what is no record. */
export function placeOf({ project, serviceUrl }: SpoolEntry): string {
  if (serviceUrl === undefined) return '';
  return `project ${project ?? '(not known yet)'} at ${serviceUrl}`;
}

/** Where all of them belong, if that is one place. */
export function onePlace(entries: readonly SpoolEntry[]): string | undefined {
  const places = new Set(entries.map(placeOf).filter((place) => place !== ''));
  return places.size > 1 ? undefined : ([...places][0] ?? '');
}

export function typeOf({ type, schemaVersion }: SpoolEntry): string {
  return type === undefined || schemaVersion === undefined ? '' : typeKey(type, schemaVersion);
}

/** `2 owed, 1 refused`. */
export function countWords(entries: readonly SpoolEntry[]): string {
  const by = Map.groupBy(entries, ({ state }) => state);
  return [...by].map(([state, { length }]) => `${length} ${state}`).join(', ');
}

export function statePaint(style: Style, state: SpoolEntry['state']): (text: string) => string {
  switch (state) {
    case 'refused':
    case 'corrupt':
    case 'unreadable':
      return style.bad;
    case 'stale':
    case 'newer':
      return style.warn;
    case 'running':
      return (text) => style.state('running', text);
    default:
      return (text) => text;
  }
}

/** One entry as `--json` shows it; the help of the commands describes it. */
export function entryJson(entry: SpoolEntry, wallMs: number): Record<string, unknown> {
  const { state, at, sum: _, ...rest } = entry;
  const ageMs = at === undefined ? undefined : Math.max(0, wallMs - Date.parse(at));
  return {
    state,
    id: entryId(entry),
    ...(at !== undefined && { at, ...(Number.isFinite(ageMs) && { ageMs }) }),
    ...rest,
  };
}

/** What `--json` holds for each entry, for the help of the commands. */
export const ENTRY_JSON = [
  'state        owed, running, stale, refused, corrupt, newer or unreadable',
  'id           attempt, else file (and line); as the other commands take it',
  'at, ageMs    spooled, claimed, set aside or found, and how long ago',
  'file, line, bytes   where it lies in the spool',
  'taskId, attemptId, fence, type, schemaVersion, op',
  'serviceUrl, project, workerId   where it belongs, and who wrote it',
  'followUp     it stands in for a report that was refused',
  'begun, progress     of running: its handler was started, what it said last',
  'answer       of stale and refused: status, code, says, recorded',
  'why          of what cannot be read',
]
  .map((line) => `  ${line}`)
  .join('\n');
