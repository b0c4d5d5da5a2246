import { type TypeList, typeKey, type WorkerView } from '../../contract/index.ts';
import { pauseInWords } from '../../core/type-pauses.ts';
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
  const notes: string[] = [];
  const { workerId } = worker;
  if (worker.notClaiming) notes.push(`${workerId} claims nothing: ${worker.notClaiming}`);
  for (const paused of worker.pausedTypes ?? [])
    notes.push(
      `${workerId}: ${typeKey(paused.type, paused.schemaVersion)} ${pauseInWords(paused)}`,
    );
  for (const { type, schemaVersion, why, since } of worker.keptHandlers ?? [])
    notes.push(
      `${workerId}: ${typeKey(type, schemaVersion)} is served with its older code, since its file was found broken ${age(since, wallMs)} ago: ${why}`,
    );
  for (const { type, schemaVersion, taskId, pids = [], earlierSession } of worker.stuck ?? []) {
    const handler = `${workerId}: the handler of ${taskId} (${typeKey(type, schemaVersion)})`;
    // Without a process of its own, of this session: it runs inside its program.
    notes.push(
      pids.length === 0 && !earlierSession
        ? `${handler} was told to stop and does not; it runs inside its program, which cannot kill it, and keeps its slot`
        : `${handler}${earlierSession ? ', of an earlier process of this worker,' : ''} was killed and does not go${pids.length === 0 ? '' : ` (process ${pids.join(', ')})`}; it keeps its slot`,
    );
  }
  // Of one that has gone, it was done.
  if (worker.drainRequested && worker.state !== 'offline')
    notes.push(`${worker.workerId} was asked to drain`);
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
function stateWords({ notClaiming, state, words }: WorkerView): string {
  // Why it claims nothing is a line of its own below the table.
  const told = notClaiming === undefined ? words : words.replace(`: ${notClaiming}`, '');
  return told.startsWith(state) ? told : `${state}: ${told}`;
}

function busyWords({ slots, state }: WorkerView): string {
  return `${lastHeard(state)}${slots.busy}/${slots.max}`;
}

function spoolWords({ spool, state }: WorkerView): string {
  const was = lastHeard(state);
  if (!spool.ok) return `${was}not writable`;
  if (spool.pending === 0) return `${was}empty`;
  const oldest = spool.oldestMs === null ? '' : `, oldest ${durationWords(spool.oldestMs)}`;
  return `${was}${spool.pending} unsent${oldest}`;
}

/** What one that is offline said last may be otherwise by now. */
function lastHeard(state: string): string {
  return state === 'offline' ? 'was ' : '';
}

function handlerWords({ handlers }: WorkerView): string {
  return handlers.map(({ type, schemaVersion }) => typeKey(type, schemaVersion)).join(', ');
}
