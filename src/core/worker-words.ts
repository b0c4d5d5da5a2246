import { typeKey, type WorkerView } from '../contract/index.ts';
import { age, durationWords } from './duration-words.ts';
import { pauseInWords } from './type-pauses.ts';

/** How a worker is, in the words that the CLI and the pages share. Pure. */

export interface WorkerNote {
  readonly kind:
    | 'claims-nothing'
    | 'paused'
    | 'older-code'
    | 'not-served'
    | 'stuck'
    | 'drain'
    | 'clock';
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
  for (const one of worker.unservedHandlers ?? []) note('not-served', unservedWords(one));
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

/** `demo/hello@1 is not served: demo/hello@1.mjs: it does not load: …`; where no type is known, what is said of the file. */
export function unservedWords({
  type,
  schemaVersion,
  why,
}: NonNullable<WorkerView['unservedHandlers']>[number]): string {
  return type === undefined || schemaVersion === undefined
    ? why
    : `${typeKey(type, schemaVersion)} is not served: ${why}`;
}

/** What its spool means for people; of one that is offline, as it was when it was last heard from. */
export function spoolNote({ spool, state }: WorkerView): string | undefined {
  const unsent = spool.pending === 1 ? '1 report' : `${spool.pending} reports`;
  if (!spool.ok)
    return state === 'offline'
      ? 'its disk took no reports when it was last heard from'
      : 'its disk takes no reports: make room on it or mend it; its log says what was refused';
  if (state === 'offline' && spool.pending > 0)
    return `it had ${unsent} to send when it was last heard from: they are on its disk and come when it runs again there, so leave its state folder as it is`;
  if (spool.oldestMs !== null && spool.oldestMs >= LATE_REPORT_MS)
    return `${unsent} could not be sent yet, the oldest for ${durationWords(spool.oldestMs)}: they are safe on its disk; its log says why`;
  return undefined;
}

/** An outage that ends by itself has ended by then. */
const LATE_REPORT_MS = 60_000;

/** How much a worker needs a person: `act` do something, `look` see whether it is meant so. */
export function workerWeight(worker: WorkerView, wallMs: number): 'act' | 'look' | 'none' {
  const { state, spool, attempts = [] } = worker;
  if (keyHasEnded(worker)) return 'act';
  // What one that is offline said last is over; its tasks and reports are not.
  if (state === 'offline') return attempts.length > 0 || spool.pending > 0 ? 'act' : 'none';
  const kinds = workerNotes(worker, wallMs).map(({ kind }) => kind);
  if (!spool.ok || kinds.some((kind) => kind === 'claims-nothing' || kind === 'stuck'))
    return 'act';
  const odd =
    isQuiet(worker) || kinds.some((kind) => kind !== 'drain') || spoolNote(worker) !== undefined;
  return odd ? 'look' : 'none';
}

/** Begins what the control plane says of a worker whose key is none any more; the view tells it in its words alone. */
export const KEY_ENDED = 'was last heard with the key';

/** Nothing that it says is taken any more. */
export function keyHasEnded({ words }: Pick<WorkerView, 'words'>): boolean {
  return words.includes(`; it ${KEY_ENDED} "`);
}

/** Begins what the control plane says of a worker that is late with its sign of life, and not offline yet. */
export const NOT_HEARD = 'not heard from for';

/** It may have gone. */
export function isQuiet({ state, words }: Pick<WorkerView, 'state' | 'words'>): boolean {
  return state !== 'offline' && words.includes(`; ${NOT_HEARD} `);
}

/** `full: all 4 slots are working; do not restart it`: people restart what looks stuck. */
export function stateAdvice(worker: WorkerView): string {
  const words = stateWords(worker);
  return worker.state === 'full' ? `${words}; do not restart it` : words;
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
