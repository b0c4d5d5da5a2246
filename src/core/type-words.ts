import { careInWords } from '../contract/care.ts';
import { effectGateRead, effectSafetyRead } from '../contract/effects.ts';
import type { TypeList, WorkerView } from '../contract/service.ts';
import { typeKey } from '../contract/type-key.ts';
import type { QueueGroup } from '../ports/store-rows.ts';
import { historyDefaults } from './history-defaults.ts';
import { nearest, SLIP_LETTERS } from './nearest.ts';
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
  readonly kind: 'nobody' | 'other-pool' | 'not-claiming' | 'disagree' | 'failures' | 'all-full';
  /** A person has to do something, or should look, or may wait. */
  readonly weight: 'act' | 'look' | 'wait';
  readonly says: string;
  readonly next?: string;
}

export function servingOf(
  { type, schemaVersion }: Pick<TypeView, 'type' | 'schemaVersion'>,
  workers: readonly WorkerView[],
): Serving[] {
  return workers.flatMap((worker) => {
    const handler = worker.handlers.find(
      (one) => one.type === type && one.schemaVersion === schemaVersion,
    );
    if (handler === undefined || worker.state === 'offline') return [];
    const care = careInWords({
      effectSafety: effectSafetyRead.parse(handler.effectSafety),
      effectGate: effectGateRead.parse(handler.effectGate),
    });
    return [{ worker, care }];
  });
}

/** What is known beside the type itself. */
export interface Around {
  readonly workers: readonly WorkerView[];
  /** Types that are told of, for near misses. */
  readonly known: readonly TypeView[];
  /** What waits in which pool, of all types. */
  readonly groups: readonly QueueGroup[];
  readonly recent: Outcomes | undefined;
  /** `hour`: how long is looked back. */
  readonly span: string;
}

/** The worst first. */
export function typeNotes(
  view: TypeView,
  { workers, known, groups, recent, span }: Around,
): TypeNote[] {
  const serving = servingOf(view, workers);
  const notes: TypeNote[] = [];
  const name = typeKey(view.type, view.schemaVersion);
  if (serving.length === 0 && view.queued > 0) {
    const near = nearMiss(view, known);
    notes.push({
      kind: 'nobody',
      weight: 'act',
      says: `${tasks(view.queued)} and no worker that is online serves ${name}${near === undefined ? '' : `; ${near}`}`,
      next: `Start a worker that has a handler for ${name}, or cancel what waits.`,
    });
  }
  if (serving.length > 0)
    for (const { pool, queued } of groups.filter(
      (group) =>
        group.type === view.type &&
        group.schemaVersion === view.schemaVersion &&
        group.queued > 0 &&
        !serving.some(({ worker }) => worker.pools.includes(group.pool)),
    ))
      notes.push({
        kind: 'other-pool',
        weight: 'act',
        says: `${tasks(queued)} in pool ${pool}, for which none of its workers works; they work for ${some([...new Set(serving.flatMap(({ worker }) => worker.pools))].sort())}`,
        next: `Start a worker of it with --pool ${pool}, or cancel what waits there.`,
      });
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

/** The usual mistakes: another case, another version, a letter. */
export function nearMiss(
  { type, schemaVersion }: Pick<TypeView, 'type' | 'schemaVersion'>,
  known: readonly TypeView[],
): string | undefined {
  const served = known.filter(({ workers }) => workers.length > 0);
  const versions = served
    .filter((one) => one.type === type && one.schemaVersion !== schemaVersion)
    .map((one) => typeKey(one.type, one.schemaVersion));
  if (versions.length > 0) return `another version is served: ${versions.join(', ')}`;
  const others = served.filter((one) => one.type !== type);
  const cased = others.find((one) => one.type.toLowerCase() === type.toLowerCase());
  if (cased) return `served in another case: ${typeKey(cased.type, cased.schemaVersion)}`;
  const alike = nearest(type, [...new Set(others.map((one) => one.type))], SLIP_LETTERS);
  const found = others.find((one) => one.type === alike);
  return found && `served under a name like it: ${typeKey(found.type, found.schemaVersion)}`;
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
