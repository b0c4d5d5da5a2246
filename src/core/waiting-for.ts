import { typeKey } from '../contract/names.ts';
import type { WorkerView } from '../contract/service.ts';
import type { PausedType, WorkerState } from '../contract/worker-calls.ts';
import { controlPlaneDefaults } from './defaults.ts';
import { nearest, SLIP_LETTERS } from './nearest.ts';
import type { AttemptState, TaskState } from './task.ts';
import { onlyItsWordHelps } from './task-sweep.ts';
import { pauseInWords } from './type-pauses.ts';

/** What is known of a worker, for people only: never an input of a decision. */
export interface WorkerFacts {
  readonly workerId: string;
  readonly state: WorkerState;
  readonly pools: readonly string[];
  readonly types: readonly { readonly type: string; readonly schemaVersion: number }[];
  /** It claims nothing at all. */
  readonly notClaiming?: string | undefined;
  readonly pausedTypes?: readonly PausedType[] | undefined;
  /** Files of its handlers folder that it cannot serve. */
  readonly unserved?: readonly UnservedFile[] | undefined;
  /** Slots that a killed handler does not give back. */
  readonly stuck?: number | undefined;
  /** Since it was last heard from. */
  readonly quietMs?: number | undefined;
}

export interface UnservedFile {
  readonly type?: string | undefined;
  readonly schemaVersion?: number | undefined;
  readonly why: string;
}

/** A worker that is online and has a file for it, but cannot serve it: `garage does not serve it: demo/hello@1.mjs: it does not load: …`. */
export function notServedBy(
  task: Pick<TaskState, 'type' | 'schemaVersion'>,
  workers: readonly Pick<WorkerFacts, 'workerId' | 'state' | 'unserved'>[],
): string | undefined {
  for (const { state, unserved = [], workerId } of workers) {
    if (state === 'offline') continue;
    const file = unserved.find(
      (one) => one.type === task.type && one.schemaVersion === task.schemaVersion,
    );
    if (file) return `${workerId}${NOT_SERVED}${file.why}`;
  }
  return undefined;
}

/** The same for all types at once, by the key of the type. */
export function notServedByType(
  workers: readonly Pick<WorkerView, 'workerId' | 'state' | 'unservedHandlers'>[],
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { state, unservedHandlers = [], workerId } of workers) {
    if (state === 'offline') continue;
    for (const { type, schemaVersion, why } of unservedHandlers) {
      if (type === undefined || schemaVersion === undefined) continue;
      const key = typeKey(type, schemaVersion);
      if (!found.has(key)) found.set(key, `${workerId}${NOT_SERVED}${why}`);
    }
  }
  return found;
}

/** Whether it says that a worker has a file for it, which is to be mended there: a start of another worker is not what helps. */
export function saysNotServed(waitingFor: string): boolean {
  return waitingFor.includes(NOT_SERVED);
}

const NOT_SERVED = ' does not serve it: ';

/** In words: why the task is not running, or why it seems stuck. `undefined` where nothing is odd. */
export function waitingFor(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState | undefined,
  workers: readonly WorkerFacts[],
): string | undefined {
  if (task.status === 'running') return attempt && silent(nowMs, task, attempt);
  if (task.status !== 'queued') return undefined;
  if (task.availableAtMs > nowMs) {
    if (task.notBeforeMs !== undefined && task.notBeforeMs >= task.availableAtMs)
      return `not before ${new Date(task.notBeforeMs).toISOString()}`;
    return `retry in ${seconds(task.availableAtMs - nowMs)}`;
  }
  return waitsFor(task, workers).words;
}

/** Where a task waits that may be claimed now. */
export type Place = Pick<TaskState, 'type' | 'schemaVersion' | 'pool'>;

/**
 * Why nobody has claimed it yet. `served`: a worker that is online serves it there, whatever that one is doing.
 * `hope`: one of those goes on claiming, so that nobody has to do anything but wait.
 */
export function waitsFor(
  task: Place,
  workers: readonly WorkerFacts[],
): { readonly served: boolean; readonly hope: boolean; readonly words: string } {
  const name = typeKey(task.type, task.schemaVersion);
  const able = workers.filter(
    (w) =>
      w.pools.includes(task.pool) &&
      w.types.some((t) => t.type === task.type && t.schemaVersion === task.schemaVersion),
  );
  const online = able.filter((w) => w.state !== 'offline');
  if (online.length === 0) {
    const none = `no worker for ${name} in pool ${task.pool}`;
    const broken = notServedBy(task, workers);
    if (broken) return { served: false, hope: false, words: `${none}: ${broken}` };
    if (able.length > 0) {
      const names = able.map((w) => w.workerId).slice(0, 3);
      const offline = `${names.join(', ')} ${able.length === 1 ? 'is' : 'are'} offline`;
      return { served: false, hope: false, words: `${none}: ${offline}` };
    }
    const near = nearMiss(task, workers);
    return { served: false, hope: false, words: near ? `${none}; ${near}` : none };
  }
  const seen = online.map((w) => asFor(task, w));
  const hope = seen.some((w) => w.state !== 'draining' && w.notClaiming === undefined);
  return { served: true, hope, words: inWords(seen) };
}

/**
 * For many places: the workers that any of them could wait for, with the types that matter for it, so that no place looks at all
 * types of all workers. What `waitsFor` tells is the same, but for names that are misspelt.
 */
export function workersByPlace(
  places: readonly Place[],
  workers: readonly WorkerFacts[],
): (place: Place) => readonly WorkerFacts[] {
  const found = new Map(places.map(({ type }) => [type.toLowerCase(), [] as WorkerFacts[]]));
  for (const worker of workers) {
    const mine = new Map<string, WorkerFacts['types'][number][]>();
    for (const one of worker.types) {
      const name = one.type.toLowerCase();
      if (!found.has(name)) continue;
      const types = mine.get(name);
      if (types === undefined) mine.set(name, [one]);
      else types.push(one);
    }
    for (const [name, types] of mine) found.get(name)?.push({ ...worker, types });
  }
  return ({ type }) => found.get(type.toLowerCase()) ?? [];
}

/** A worker that has paused the task's type claims nothing as far as this task goes. */
function asFor({ type, schemaVersion }: Place, worker: WorkerFacts): WorkerFacts {
  const pause = worker.pausedTypes?.find(
    (paused) => paused.type === type && paused.schemaVersion === schemaVersion,
  );
  if (worker.notClaiming !== undefined || pause === undefined) return worker;
  return { ...worker, notClaiming: `${typeKey(type, schemaVersion)} ${pauseInWords(pause)}` };
}

/** `2 workers, all full` · `3 workers: 2 full, 1 draining`. */
function inWords(workers: readonly WorkerFacts[]): string {
  const number = workers.length === 1 ? '1 worker' : `${workers.length} workers`;
  const stuck = workers.find((w) => w.state === 'ready' && w.notClaiming !== undefined);
  const quiet = (w: WorkerFacts) => (w.quietMs ?? 0) > controlPlaneDefaults.quietAfterMs;
  const ready = workers.filter((w) => w.state === 'ready' && w.notClaiming === undefined);
  const free = ready.filter((w) => !quiet(w));
  if (free.length > 0)
    return `${number}, ${free.length === 1 ? free[0]?.workerId : `${free.length} of them`} ready: it should be claimed within seconds`;
  const states = new Map<string, number>();
  for (const w of workers) {
    const word = ready.includes(w)
      ? `not heard from for ${seconds(w.quietMs ?? 0)}`
      : w.state === 'ready'
        ? 'not claiming'
        : w.state;
    states.set(word, (states.get(word) ?? 0) + 1);
  }
  const holding = workers.find((w) => (w.stuck ?? 0) > 0);
  const why = stuck
    ? ` (${stuck.workerId}: ${stuck.notClaiming})`
    : holding
      ? ` (${holding.workerId}: ${stuckInWords(holding.stuck ?? 0)})`
      : '';
  const [only] = states.keys();
  if (states.size === 1) return `${number}, ${workers.length === 1 ? only : `all ${only}`}${why}`;
  return `${number}: ${[...states].map(([word, n]) => `${n} ${word}`).join(', ')}${why}`;
}

/** The usual mistakes: another version, another case, another pool, a letter. */
function nearMiss(task: Place, workers: readonly WorkerFacts[]): string | undefined {
  const online = workers.filter((w) => w.state !== 'offline');
  const here = online.filter((w) => w.pools.includes(task.pool)).flatMap((w) => w.types);
  const elsewhere = online.find((w) =>
    w.types.some((t) => t.type === task.type && t.schemaVersion === task.schemaVersion),
  );
  if (elsewhere) return `${elsewhere.workerId} serves it in pool ${elsewhere.pools.join(', ')}`;
  const versions = [
    ...new Set(here.filter((t) => t.type === task.type).map((t) => t.schemaVersion)),
  ].sort((a, b) => a - b);
  if (versions.length > 0)
    return `served there: ${versions.map((v) => typeKey(task.type, v)).join(', ')}`;
  const cased = here.find((t) => t.type.toLowerCase() === task.type.toLowerCase());
  if (cased) return `served there under another case: ${typeKey(cased.type, cased.schemaVersion)}`;
  const alike = nearest(task.type, [...new Set(here.map(({ type }) => type))], SLIP_LETTERS);
  const like = here.find(({ type }) => type === alike);
  return like && `served there under a name like it: ${typeKey(like.type, like.schemaVersion)}`;
}

/** A running task whose worker has gone quiet. */
function silent(nowMs: number, task: TaskState, attempt: AttemptState): string | undefined {
  if (nowMs < attempt.leaseUntilMs) return undefined;
  const quiet = `worker ${attempt.workerId} has not renewed its lease for ${seconds(nowMs - attempt.leaseUntilMs + attempt.leaseMs)}`;
  if (!onlyItsWordHelps(task, attempt)) return quiet;
  const left = attempt.leaseUntilMs + task.policy.lostGraceMs - nowMs;
  return `${quiet}; nobody else may run the task, so its word is awaited for another ${seconds(Math.max(0, left))}`;
}

/** `1 handler does not go and keeps its slot`: it was killed, or it runs inside its program and ignores its stop. */
export function stuckInWords(stuck: number): string {
  return stuck === 1
    ? '1 handler does not go and keeps its slot'
    : `${stuck} handlers do not go and keep their slots`;
}

function seconds(ms: number): string {
  const s = Math.ceil(ms / 1000);
  if (s < 120) return `${s} s`;
  return s < 7_200 ? `${Math.ceil(s / 60)} min` : `${Math.ceil(s / 3_600)} h`;
}
