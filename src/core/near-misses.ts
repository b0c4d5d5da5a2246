import { typeKey } from '../contract/type-key.ts';
import { nearest, SLIP_LETTERS } from './nearest.ts';
import { notServedBy, type WorkerFacts } from './waiting-for.ts';

/**
 * What a task asks for beside what is online, literally: type, version, pool and project. The usual mistakes are one word
 * away from a match, and people see them when both stand one above the other. Pure.
 */
export interface Wanted {
  readonly project: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly pool: string;
}

export type Difference = 'name' | 'case' | 'version' | 'pool' | 'project' | 'offline';

/** The same type, perhaps in another case or misspelt, that workers serve alike. */
export interface Offer extends Wanted {
  readonly workers: readonly string[];
  /** Empty: it is served just so. */
  readonly differs: readonly Difference[];
}

/** Workers of one project, of those that who looks may see. */
export interface Fleet {
  readonly project: string;
  readonly workers: readonly Pick<
    WorkerFacts,
    'workerId' | 'state' | 'pools' | 'types' | 'unserved'
  >[];
}

/** What comes near, nearest first. @param most offers that are told. */
export function nearMisses(wanted: Wanted, fleets: readonly Fleet[], most = OFFERS): Offer[] {
  const offers = new Map<string, Offer & { workers: string[] }>();
  const lower = wanted.type.toLowerCase();
  for (const { project, workers } of fleets)
    for (const worker of workers)
      for (const { type, schemaVersion } of worker.types) {
        if (
          type.toLowerCase() !== lower &&
          nearest(wanted.type, [type], SLIP_LETTERS) === undefined
        )
          continue;
        for (const pool of poolsOf(worker.pools, wanted.pool)) {
          const offer = { project, type, schemaVersion, pool };
          const differs = differences(wanted, offer, worker.state === 'offline');
          const name = JSON.stringify([offer, differs]);
          const known = offers.get(name) ?? { ...offer, differs, workers: [] };
          known.workers.push(worker.workerId);
          offers.set(name, known);
        }
      }
  return [...offers.values()]
    .sort((a, b) => weight(a) - weight(b) || (label(a) < label(b) ? -1 : 1))
    .slice(0, most);
}

/** A worker of a hundred pools is told once, by the one that is wanted or its first. */
function poolsOf(pools: readonly string[], wanted: string): readonly string[] {
  return pools.includes(wanted) ? [wanted] : pools.slice(0, POOLS);
}

function differences(wanted: Wanted, offer: Wanted, offline: boolean): Difference[] {
  const found: Difference[] = [];
  if (offer.type !== wanted.type)
    found.push(offer.type.toLowerCase() === wanted.type.toLowerCase() ? 'case' : 'name');
  if (offer.schemaVersion !== wanted.schemaVersion) found.push('version');
  if (offer.pool !== wanted.pool) found.push('pool');
  if (offer.project !== wanted.project) found.push('project');
  if (offline) found.push('offline');
  return found;
}

/** Letters may be meant, and one that is offline may never come back: further away than a word. Another project is a wall. */
function weight({ differs }: Offer): number {
  return differs.reduce(
    (sum, one) => sum + (one === 'case' || one === 'version' || one === 'pool' ? 2 : 3),
    0,
  );
}

const label = (offer: Offer) =>
  `${typeKey(offer.type, offer.schemaVersion)} ${offer.pool} ${offer.project}`;

/** What settles it, in sentences: the nearest first, then what always does. @param own workers of the project. */
export function settleWords(
  wanted: Wanted,
  offers: readonly Offer[],
  own: Fleet['workers'],
): readonly string[] {
  const broken = notServedBy(wanted, own);
  if (broken !== undefined) return [broken];
  const online = own.filter(({ state }) => state !== 'offline').length;
  const name = typeKey(wanted.type, wanted.schemaVersion);
  const [nearest] = offers;
  const start = `Start a worker that serves ${name} in pool ${wanted.pool} with a key of project ${wanted.project}: its handlers folder needs a handler of exactly that name.`;
  if (nearest === undefined)
    return [
      online === 0
        ? `No worker is online in project ${wanted.project}. ${start}`
        : `${online === 1 ? 'The worker that is online serves' : `The ${online} workers that are online serve`} other types. ${start}`,
    ];
  const who = nearest.workers.slice(0, WORKERS_TOLD).join(', ');
  const offered = typeKey(nearest.type, nearest.schemaVersion);
  const sentences: string[] = [];
  for (const differs of nearest.differs)
    switch (differs) {
      case 'name':
        sentences.push(
          `${who} serves ${offered}, a name like it; the task asks for ${name}. If one of them is misspelt, submit it under the name that is served, or rename the handler.`,
        );
        break;
      case 'case':
        sentences.push(
          `Names are literal: ${who} serves ${nearest.type}, the task asks for ${wanted.type}. Submit it under the name that is served, or rename the handler.`,
        );
        break;
      case 'version':
        sentences.push(
          `${who} serves version ${nearest.schemaVersion}, the task asks for version ${wanted.schemaVersion}. Serve ${name} beside ${offered}, or submit tasks of version ${nearest.schemaVersion}.`,
        );
        break;
      case 'pool':
        sentences.push(
          `${who} serves it in pool ${nearest.pool}, the task waits in pool ${wanted.pool}. Add --pools ${wanted.pool} to a worker, or submit into pool ${nearest.pool}.`,
        );
        break;
      case 'project':
        sentences.push(
          `${who} works for project ${nearest.project}, the task is of project ${wanted.project}. A worker sees only the project of its key.`,
        );
        break;
      case 'offline':
        sentences.push(`Start ${who} again: it is offline.`);
        break;
    }
  return sentences.length === 0 ? [] : [...sentences, start];
}

/** Lines that a person compares. */
const OFFERS = 8;
const POOLS = 3;
const WORKERS_TOLD = 3;
