import { typeKey, type WorkerView } from '../contract/index.ts';
import { age, durationWords } from './duration-words.ts';
import { pauseInWords } from './type-pauses.ts';

/** How a worker is, in the words that the CLI and the pages share. Pure. */

export interface WorkerNote {
  readonly kind: 'claims-nothing' | 'paused' | 'older-code' | 'stuck' | 'drain' | 'clock';
  /** Without who: `claims nothing: the disk is full`; of a clock `is 7 s ahead`. */
  readonly says: string;
}

/** What keeps it from doing all it should, and what somebody asked of it. */
export function workerNotes(worker: WorkerView, wallMs: number): WorkerNote[] {
  const notes: WorkerNote[] = [];
  const note = (kind: WorkerNote['kind'], says: string) => notes.push({ kind, says });
  if (worker.notClaiming) note('claims-nothing', `claims nothing: ${worker.notClaiming}`);
  for (const paused of worker.pausedTypes ?? [])
    note('paused', `${typeKey(paused.type, paused.schemaVersion)} ${pauseInWords(paused)}`);
  for (const { type, schemaVersion, why, since } of worker.keptHandlers ?? [])
    note(
      'older-code',
      `${typeKey(type, schemaVersion)} is served with its older code, since its file was found broken ${age(since, wallMs)} ago: ${why}`,
    );
  for (const { type, schemaVersion, taskId, pids = [], earlierSession } of worker.stuck ?? []) {
    const handler = `the handler of ${taskId} (${typeKey(type, schemaVersion)})`;
    // Without a process of its own, of this session: it runs inside its program.
    note(
      'stuck',
      pids.length === 0 && !earlierSession
        ? `${handler} was told to stop and does not; it runs inside its program, which cannot kill it, and keeps its slot`
        : `${handler}${earlierSession ? ', of an earlier process of this worker,' : ''} was killed and does not go${pids.length === 0 ? '' : ` (process ${pids.join(', ')})`}; it keeps its slot`,
    );
  }
  // Of one that has gone, it was done.
  if (worker.drainRequested && worker.state !== 'offline') note('drain', 'was asked to drain');
  const drift = worker.clockOffsetMs ?? 0;
  if (Math.abs(drift) >= 5_000) note('clock', `is ${driftWords(drift)}`);
  return notes;
}

/** `7 s ahead`. */
export function driftWords(offsetMs: number): string {
  return `${durationWords(Math.abs(offsetMs))} ${offsetMs > 0 ? 'ahead' : 'behind'}`;
}

/** The state with what it means: `full: all 2 slots are working`. Why it claims nothing is a note of its own. */
export function stateWords({ notClaiming, state, words }: WorkerView): string {
  const told = notClaiming === undefined ? words : words.replace(`: ${notClaiming}`, '');
  return told.startsWith(state) ? told : `${state}: ${told}`;
}

export function busyWords({ slots, state }: WorkerView): string {
  return `${lastHeard(state)}${slots.busy}/${slots.max}`;
}

/** What it owes: `empty`, `3 unsent, oldest 12 s`, `not writable`. */
export function spoolWords({ spool, state }: WorkerView): string {
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
