import { type TypeList, typeKey, type WorkerView } from '../../contract/index.ts';
import {
  busyWords,
  workerNotes as sharedNotes,
  spoolWords,
  stateWords,
} from '../../core/worker-words.ts';
import { durationWords } from '../duration.ts';
import { plain, type Style } from '../style.ts';
import type { Column } from '../table.ts';
import { age } from './time-words.ts';

/** Columns of `tasks workers`. */
export function workerColumns(style: Style, wallMs: number): Column<WorkerView>[] {
  return [
    { title: 'WORKER', cell: ({ workerId }) => workerId },
    {
      title: 'STATE',
      cell: stateWords,
      paint: ({ state }, text) => style.state(state, text),
    },
    { title: 'BUSY', cell: busyWords, align: 'right' },
    { title: 'SPOOL', cell: spoolWords },
    { title: 'SEEN', cell: ({ lastSeenAt }) => `${age(lastSeenAt, wallMs)} ago`, align: 'right' },
    { title: 'POOLS', cell: ({ pools }) => pools.join(', ') },
    { title: 'HANDLERS', cell: handlerWords },
  ];
}

/** What each worker is doing, and why it claims nothing; below the table. */
export function workerNotes(worker: WorkerView, style: Style, wallMs: number): string[] {
  const { workerId } = worker;
  const notes = sharedNotes(worker, wallMs).map(({ kind, says }) => {
    if (kind === 'clock') return `the clock of ${workerId} ${says}`;
    return `${workerId}${kind === 'claims-nothing' || kind === 'drain' ? '' : ':'} ${says}`;
  });
  const working = (worker.attempts ?? []).map(({ taskId, type, schemaVersion, startedAt }) => {
    const since = startedAt ? ` for ${age(startedAt, wallMs)}` : '';
    return `${workerId} works on ${taskId} (${typeKey(type, schemaVersion)})${since}`;
  });
  return [...notes.map((note) => style.warn(plain(note))), ...working.map((line) => plain(line))];
}

/** @param workers as they say of themselves which pools they claim from. */
export function typeColumns(
  style: Style,
  workers: readonly WorkerView[],
): Column<TypeList['types'][number]>[] {
  const poolsOf = new Map(workers.map(({ workerId, pools }) => [workerId, pools]));
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
    {
      title: 'WORKERS',
      cell: ({ workers: serving, pools }) =>
        serving
          .map((workerId) => {
            const own = poolsOf.get(workerId) ?? pools;
            // Not every worker of it works for each pool that stands beside.
            return pools.every((pool) => own.includes(pool))
              ? workerId
              : `${workerId} (${own.join(', ')})`;
          })
          .join(', '),
    },
  ];
}

function handlerWords({ handlers }: WorkerView): string {
  return handlers.map(({ type, schemaVersion }) => typeKey(type, schemaVersion)).join(', ');
}
