import {
  type TypeList,
  typeKey,
  typeList,
  type WorkerState,
  type WorkerView,
  workerList,
} from '../../contract/index.ts';
import { notServedBy, waitsFor } from '../../core/waiting-for.ts';
import { type Check, warn } from './check.ts';
import type { Reader } from './hints.ts';

/** What waits, and who serves what, as the control plane tells it. */
export interface Served {
  readonly types: TypeList['types'];
  readonly workers: readonly WorkerView[];
}

/** `undefined` where no key may look, or nobody answers: the lines above say why. */
export async function readServed(reader: Reader | undefined): Promise<Served | undefined> {
  if (reader === undefined) return undefined;
  const call = { method: 'GET', statuses: [200] } as const;
  const [types, workers] = await Promise.all([
    reader.door.call({ ...call, path: '/types', schema: typeList }),
    reader.door.call({ ...call, path: '/workers', schema: workerList }),
  ]);
  if (types.kind !== 'ok' || workers.kind !== 'ok') return undefined;
  return { types: types.value.types, workers: workers.value.workers };
}

/** One line for each place of the queue that no worker serves while others are online; with none, one line above says all. */
export function checkUnserved(served: Served | undefined): Check[] {
  if (served === undefined || !someOnline(served)) return [];
  const facts = served.workers.map(({ workerId, state, pools, handlers, unservedHandlers }) => ({
    workerId,
    // A state that we do not know is one of a worker that is there.
    state: state as WorkerState,
    pools,
    types: handlers,
    unserved: unservedHandlers,
  }));
  const places = served.types
    .filter(({ queued }) => queued > 0)
    .flatMap((one) =>
      one.pools.flatMap((pool) => {
        const { served, words } = waitsFor({ ...one, pool }, facts);
        const broken = notServedBy(one, facts) !== undefined;
        return served ? [] : [{ ...one, pool, words, broken, only: one.pools.length === 1 }];
      }),
    );
  const lines = places
    .slice(0, TOLD_MAX)
    .map(({ type, schemaVersion, queued, words, broken, only }) => {
      const name = typeKey(type, schemaVersion);
      const waits = !only ? 'Tasks wait' : queued === 1 ? '1 task waits' : `${queued} tasks wait`;
      return warn(
        'queue',
        `${waits} for what nobody serves: ${words}`,
        broken
          ? 'Do what is said of that file: mend it, or wait where it still loads. On the machine of that worker, --handlers with its folder has a line of its own for it below.'
          : `Start a worker that serves it there. If name, version or pool is a slip, submit again as it is served and cancel what waits: interlock tasks list --status queued --type ${name}`,
      );
    });
  const more = places.length - lines.length;
  return more <= 0
    ? lines
    : [...lines, warn('queue', `${more} more places like that`, 'See all: interlock tasks types')];
}

/** Handlers of a folder that no worker serves while some are online: mostly a file that was saved after the start. */
export function checkNotLoaded(names: readonly string[], served: Served | undefined): Check[] {
  if (served === undefined || !someOnline(served)) return [];
  const known = new Set(
    served.types
      .filter(({ workers }) => workers.length > 0)
      .map(({ type, schemaVersion }) => typeKey(type, schemaVersion)),
  );
  const missing = names.filter((name) => !known.has(name));
  if (missing.length === 0) return [];
  const told = missing.slice(0, TOLD_MAX).join(', ');
  const more = missing.length > TOLD_MAX ? ` and ${missing.length - TOLD_MAX} more` : '';
  return [
    warn(
      'handlers',
      `${told}${more}: in the folder, but no worker that is online serves ${missing.length === 1 ? 'it' : 'them'}`,
      'A worker reads its folder when it starts and on SIGHUP: send it that, or start it again (npm start: end it and start it again). If no worker is to serve this folder, nothing is to be done.',
    ),
  ];
}

function someOnline({ workers }: Served): boolean {
  return workers.some(({ state }) => state !== 'offline');
}

/** More of them say nothing new. */
const TOLD_MAX = 10;
