import { type TypeList, typeKey, type WorkerView } from '../../contract/index.ts';
import { durationWords } from '../duration.ts';
import { plain, type Style } from '../style.ts';
import type { Column } from '../table.ts';
import { age } from './task-view.ts';

/** Columns of `tasks workers`. */
export function workerColumns(style: Style, wallMs: number): Column<WorkerView>[] {
  return [
    { title: 'WORKER', cell: ({ workerId }) => workerId },
    {
      title: 'STATE',
      cell: stateWords,
      paint: ({ state }, text) => style.state(state, text),
    },
    { title: 'BUSY', cell: ({ slots }) => `${slots.busy}/${slots.max}`, align: 'right' },
    { title: 'SPOOL', cell: spoolWords },
    { title: 'SEEN', cell: ({ lastSeenAt }) => `${age(lastSeenAt, wallMs)} ago`, align: 'right' },
    { title: 'POOLS', cell: ({ pools }) => pools.join(', ') },
    { title: 'HANDLERS', cell: handlerWords },
  ];
}

/** What each worker is doing, and why it claims nothing; below the table. */
export function workerNotes(worker: WorkerView, style: Style, wallMs: number): string[] {
  const notes: string[] = [];
  if (worker.notClaiming) notes.push(`${worker.workerId} claims nothing: ${worker.notClaiming}`);
  if (worker.drainRequested) notes.push(`${worker.workerId} was asked to drain`);
  const drift = worker.clockOffsetMs ?? 0;
  if (Math.abs(drift) >= 5_000)
    notes.push(
      `the clock of ${worker.workerId} is ${durationWords(Math.abs(drift))} ${drift > 0 ? 'ahead' : 'behind'}`,
    );
  const working = (worker.attempts ?? []).map(({ taskId, type, schemaVersion, startedAt }) => {
    const since = startedAt ? ` for ${age(startedAt, wallMs)}` : '';
    return `${worker.workerId} works on ${taskId} (${typeKey(type, schemaVersion)})${since}`;
  });
  return [...notes.map((note) => style.warn(plain(note))), ...working.map((line) => plain(line))];
}

export function typeColumns(style: Style): Column<TypeList['types'][number]>[] {
  return [
    { title: 'TYPE', cell: ({ type, schemaVersion }) => typeKey(type, schemaVersion) },
    { title: 'QUEUED', cell: ({ queued }) => String(queued), align: 'right' },
    { title: 'RUNNING', cell: ({ running }) => String(running), align: 'right' },
    {
      title: 'OLDEST',
      cell: ({ oldestQueuedMs }) => (oldestQueuedMs === null ? '' : durationWords(oldestQueuedMs)),
      align: 'right',
    },
    {
      title: 'SLOTS',
      cell: ({ slots }) => (slots === 0 ? 'none' : String(slots)),
      align: 'right',
      paint: ({ slots, queued }, text) => (slots === 0 && queued > 0 ? style.warn(text) : text),
    },
    { title: 'SAFETY', cell: ({ effectSafety }) => effectSafety.join(', ') },
    { title: 'POOLS', cell: ({ pools }) => pools.join(', ') },
    { title: 'WORKERS', cell: ({ workers }) => workers.join(', ') },
  ];
}

/** The state with what it means: `full: all 2 slots are working`. */
function stateWords({ state, words }: WorkerView): string {
  return words.startsWith(state) ? words : `${state}: ${words}`;
}

function spoolWords({ spool }: WorkerView): string {
  if (!spool.ok) return 'cannot be written';
  if (spool.pending === 0) return 'empty';
  const oldest = spool.oldestMs === null ? '' : `, oldest ${durationWords(spool.oldestMs)}`;
  return `${spool.pending} unsent${oldest}`;
}

function handlerWords({ handlers }: WorkerView): string {
  return handlers.map(({ type, schemaVersion }) => typeKey(type, schemaVersion)).join(', ');
}
