import { careInWords } from '../contract/care.ts';
import { effectGateRead, effectSafetyRead } from '../contract/effects.ts';
import type { TypeList, WorkerView } from '../contract/service.ts';
import { typeKey } from '../contract/type-key.ts';
import type { QueueGroup } from '../ports/store-rows.ts';
import { historyDefaults } from './history-defaults.ts';
import { nearest, SLIP_LETTERS, type Tally } from './nearest.ts';
import { failureShare, type Outcomes } from './type-history.ts';
import { pauseInWords } from './type-pauses.ts';
import { keyHasEnded } from './worker-words.ts';

/** How a type of tasks is, in words. Pure. */

export type TypeView = TypeList['types'][number];

/** A worker that is online and serves the type, with how it says that may be run. */
export interface Serving {
  readonly worker: WorkerView;
  /** `non-idempotent with the gate "effect"`. */
  readonly care: string;
}

export interface TypeNote {
  readonly kind:
    | 'nobody'
    | 'broken'
    | 'other-pool'
    | 'not-claiming'
    | 'disagree'
    | 'failures'
    | 'all-full';
  /** A person has to do something, or should look, or may wait. */
  readonly weight: 'act' | 'look' | 'wait';
  readonly says: string;
  readonly next?: string;
}

/** By the key of the type: who serves it. Made once, for many types and many workers. */
export function servingByType(
  workers: readonly WorkerView[],
): ReadonlyMap<string, readonly Serving[]> {
  const found = new Map<string, Serving[]>();
  const cares = new Map<string, string>();
  const careOf = ({ effectSafety, effectGate }: WorkerView['handlers'][number]) => {
    const name = `${effectSafety} ${effectGate}`;
    const care =
      cares.get(name) ??
      careInWords({
        effectSafety: effectSafetyRead.parse(effectSafety),
        effectGate: effectGateRead.parse(effectGate),
      });
    cares.set(name, care);
    return care;
  };
  for (const worker of workers) {
    if (worker.state === 'offline') continue;
    for (const handler of worker.handlers) {
      const name = typeKey(handler.type, handler.schemaVersion);
      const serving = found.get(name) ?? [];
      found.set(name, serving);
      // The first counts, as it does for the worker.
      if (serving.at(-1)?.worker !== worker) serving.push({ worker, care: careOf(handler) });
    }
  }
  return found;
}

/** Workers that are offline and served the type when they were last heard, those heard last first. */
export function offlineOf(
  { type, schemaVersion }: Pick<TypeView, 'type' | 'schemaVersion'>,
  workers: readonly WorkerView[],
): WorkerView[] {
  return workers
    .filter(
      ({ state, handlers }) =>
        state === 'offline' &&
        handlers.some((one) => one.type === type && one.schemaVersion === schemaVersion),
    )
    .sort((a, b) => Date.parse(b.lastSeenAt) - Date.parse(a.lastSeenAt));
}

/** `garage is offline` · `garage and 2 more that served it are offline`; `undefined`: there is none. */
export function offlineWords(workerIds: readonly string[]): string | undefined {
  const [first] = workerIds;
  if (first === undefined) return undefined;
  const more = workerIds.length - 1;
  return more === 0
    ? `${first} is offline`
    : `${first} and ${more} more that served it are offline`;
}

/** What is known beside the type itself. */
export interface Around {
  /** Workers that serve it. */
  readonly serving: readonly Serving[];
  /** Who has a file for it and cannot serve it, and why. */
  readonly broken?: string | undefined;
  /** What waits in which pool. */
  readonly groups: readonly QueueGroup[];
  readonly recent: Outcomes | undefined;
  /** `hour`: how long is looked back. */
  readonly span: string;
}

/** The worst first. What comes near to a name that nobody serves is said by `withNearMiss`. */
export function typeNotes(
  view: TypeView,
  { serving, broken, groups, recent, span }: Around,
): TypeNote[] {
  const notes: TypeNote[] = [];
  const name = typeKey(view.type, view.schemaVersion);
  if (serving.length === 0 && view.queued > 0)
    notes.push({
      kind: broken === undefined ? 'nobody' : 'broken',
      weight: 'act',
      says: `${tasks(view.queued)} and no worker that is online serves ${name}${broken === undefined ? '' : `: ${broken}`}`,
      next: broken
        ? BROKEN_NEXT
        : `Start a worker that has a handler for ${name}, or cancel what waits.`,
    });
  if (serving.length > 0) notes.push(...poolNotes(view, serving, groups));
  const able = serving.filter(({ worker }) => cannot(view, worker) === undefined);
  const [first] = serving;
  if (first !== undefined && able.length === 0)
    notes.push({
      kind: 'not-claiming',
      weight: view.queued > 0 ? 'act' : 'look',
      says: `${serving.length === 1 ? 'the worker that serves it does not claim it' : `none of its ${serving.length} workers claims it`}: ${first.worker.workerId} ${cannot(view, first.worker)}`,
    });
  const cares = careGroups(serving);
  if (cares.length > 1)
    notes.push({
      kind: 'disagree',
      weight: 'look',
      says: `its workers disagree about its effect safety: ${cares.map(({ care, workerIds }) => `${care} (${some(workerIds)})`).join(', ')}`,
      next: 'What happens to a task that is lost then depends on who claimed it: deploy the same code to all of them.',
    });
  const share = recent && failureShare(recent);
  const judged = recent === undefined ? 0 : recent.succeeded + recent.failed;
  if (
    share !== undefined &&
    judged >= historyDefaults.warnFrom &&
    share >= historyDefaults.warnShare
  )
    notes.push({
      kind: 'failures',
      weight: 'look',
      says: `${shareWords(share)} of its attempts in the last ${span} failed`,
      next: 'Look at the tasks that failed: each says why.',
    });
  if (view.queued > 0 && able.length > 0 && able.every(({ worker }) => worker.state === 'full'))
    notes.push({
      kind: 'all-full',
      weight: 'wait',
      says: `${able.length === 1 ? 'its worker is' : `all ${able.length} of its workers are`} full: what waits begins as tasks end`,
    });
  return notes.sort((a, b) => WEIGHTS.indexOf(a.weight) - WEIGHTS.indexOf(b.weight));
}

/** What waits where none of its workers works; of many pools some are named. */
function poolNotes(
  { type, schemaVersion }: TypeView,
  serving: readonly Serving[],
  groups: readonly QueueGroup[],
): TypeNote[] {
  const pools = new Set(serving.flatMap(({ worker }) => worker.pools));
  const elsewhere = groups.filter(
    (group) =>
      group.type === type &&
      group.schemaVersion === schemaVersion &&
      group.queued > 0 &&
      !pools.has(group.pool),
  );
  const workFor = `they work for ${some([...pools].sort())}`;
  const named = elsewhere.slice(0, NAMED).map(
    ({ pool, queued }): TypeNote => ({
      kind: 'other-pool',
      weight: 'act',
      says: `${tasks(queued)} in pool ${pool}, for which none of its workers works; ${workFor}`,
      next: `Start a worker of it with --pool ${pool}, or cancel what waits there.`,
    }),
  );
  const others = elsewhere.slice(NAMED);
  if (others.length === 0) return named;
  const queued = others.reduce((sum, group) => sum + group.queued, 0);
  const many = others.length === 1 ? '1 other pool' : `${others.length} other pools`;
  const says = `${tasks(queued)} in ${many}, for which none of its workers works`;
  return [...named, { kind: 'other-pool', weight: 'act', says }];
}

const BROKEN_NEXT = 'Do what is said there, or cancel what waits.';
const WEIGHTS: readonly TypeNote['weight'][] = ['act', 'look', 'wait'];

/** Why this worker claims no task of the type; `undefined`: it does when it has a slot. */
function cannot({ type, schemaVersion }: TypeView, worker: WorkerView): string | undefined {
  if (worker.notClaiming !== undefined) return `claims nothing: ${worker.notClaiming}`;
  if (keyHasEnded(worker)) return 'speaks with a key that has ended';
  if (worker.state === 'draining') return 'is draining';
  const pause = worker.pausedTypes?.find(
    (one) => one.type === type && one.schemaVersion === schemaVersion,
  );
  return pause && pauseInWords(pause);
}

/** Who declares what, where more than one thing is declared. */
export function careGroups(
  serving: readonly Serving[],
): { readonly care: string; readonly workerIds: readonly string[] }[] {
  const groups = new Map<string, string[]>();
  for (const { worker, care } of serving)
    groups.set(care, [...(groups.get(care) ?? []), worker.workerId]);
  return [...groups].map(([care, workerIds]) => ({ care, workerIds }));
}

/** Types that somebody serves, to look for near misses among: made once, for many that nobody serves. */
export interface Served {
  /** Versions by type. */
  readonly versions: ReadonlyMap<string, readonly number[]>;
  /** Types by their name in lower case. */
  readonly byCase: ReadonlyMap<string, readonly string[]>;
}

export function servedOf(known: readonly TypeView[]): Served {
  const versions = new Map<string, number[]>();
  const byCase = new Map<string, string[]>();
  const add = <V>(map: Map<string, V[]>, name: string, value: V) => {
    const values = map.get(name);
    if (values === undefined) map.set(name, [value]);
    else values.push(value);
  };
  for (const { type, schemaVersion, workers } of known) {
    if (workers.length === 0) continue;
    if (!versions.has(type)) add(byCase, type.toLowerCase(), type);
    add(versions, type, schemaVersion);
  }
  return { versions, byCase };
}

/** The usual mistakes: another case, another version, a letter. */
export function nearMiss(
  { type, schemaVersion }: Pick<TypeView, 'type' | 'schemaVersion'>,
  { versions, byCase }: Served,
  tally?: Tally,
): string | undefined {
  const own = (versions.get(type) ?? []).filter((version) => version !== schemaVersion);
  if (own.length > 0)
    return `another version is served: ${own.map((version) => typeKey(type, version)).join(', ')}`;
  const first = (name: string) => typeKey(name, versions.get(name)?.[0] ?? 1);
  const cased = byCase.get(type.toLowerCase())?.find((name) => name !== type);
  if (cased !== undefined) return `served in another case: ${first(cased)}`;
  const others = [...versions.keys()].filter((name) => name !== type);
  const alike = nearest(type, others, SLIP_LETTERS, tally);
  return alike === undefined ? undefined : `served under a name like it: ${first(alike)}`;
}

/** The notes with what comes near, where nobody serves the type. It is looked for among all names: only for types that are shown. */
export function withNearMiss(
  view: TypeView,
  notes: readonly TypeNote[],
  served: Served,
  tally?: Tally,
): readonly TypeNote[] {
  if (!notes.some(({ kind }) => kind === 'nobody')) return notes;
  const near = nearMiss(view, served, tally);
  if (near === undefined) return notes;
  return notes.map((note) =>
    note.kind === 'nobody' ? { ...note, says: `${note.says}; ${near}` } : note,
  );
}

/**
 * That no worker that is online serves a type, with what comes near; `undefined`: one does.
 * @param wanted what is left open may be any.
 */
export function nobodyServes(
  wanted: {
    readonly type: string;
    readonly version: number | undefined;
    readonly pool: string | undefined;
  },
  known: readonly TypeView[],
): string | undefined {
  const { type, version, pool } = wanted;
  const here = known.filter(
    (one) =>
      one.workers.length > 0 &&
      one.type === type &&
      (version === undefined || one.schemaVersion === version),
  );
  if (here.some(({ pools }) => pool === undefined || pools.includes(pool))) return undefined;
  const name = version === undefined ? type : typeKey(type, version);
  const near =
    here.length > 0
      ? `it is served in pool ${some([...new Set(here.flatMap(({ pools }) => pools))].sort())}`
      : nearMiss({ type, schemaVersion: version ?? 0 }, servedOf(known));
  return `No worker that is online serves ${name}${pool === undefined ? '' : ` in pool ${pool}`}${near === undefined ? '' : `; ${near}`}.`;
}

/** `12 %`, `<1 %`. */
export function shareWords(share: number): string {
  const percent = Math.round(share * 100);
  return percent === 0 && share > 0 ? '<1 %' : `${percent} %`;
}

const tasks = (n: number) => (n === 1 ? '1 task waits' : `${n} tasks wait`);
const NAMED = 3;
const some = (names: readonly string[]) =>
  names.length > NAMED
    ? `${names.slice(0, NAMED).join(', ')} and ${names.length - NAMED} more`
    : names.join(', ');
