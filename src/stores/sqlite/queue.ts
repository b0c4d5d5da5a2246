import type { ClaimQuery, QueueGroup } from '../../ports/store.ts';
import type { Connection, Row } from './connection.ts';

/** How the queue looks, without counting it. */

/**
 * What waits and runs, by pool and type. The oldest of a group is looked for among the oldest of the project
 * and, behind a long queue, among the next of the group: a bound, so that a page of people holds up nobody.
 */
export function queueGroups(c: Connection, project: string): QueueGroup[] {
  const oldest = new Map<string, number>();
  for (const row of c.all(OLDEST, project)) {
    const name = groupName(row);
    oldest.set(name, Math.min(oldest.get(name) ?? Infinity, row.created_at as number));
  }
  return c.all(COUNTS, project).map((row) => {
    const pool = row.pool as string;
    const type = row.type as string;
    const schemaVersion = row.schema_version as number;
    const queued = row.queued as number;
    const found = queued === 0 ? undefined : oldest.get(groupName(row));
    const next = () => c.get(OLDEST_NEXT, project, pool, type, schemaVersion)?.at as number | null;
    const oldestQueuedAtMs = queued === 0 ? undefined : (found ?? next() ?? undefined);
    return { pool, type, schemaVersion, queued, running: row.running as number, oldestQueuedAtMs };
  });
}

const groupName = (row: Row) => JSON.stringify([row.pool, row.type, row.schema_version]);

const COUNTS = `SELECT pool, type, schema_version, queued, running FROM queue_counts
  WHERE project = ? AND (queued > 0 OR running > 0)`;
const LOOKED_AT = 1_000;
const OLDEST = `SELECT pool, type, schema_version, created_at FROM tasks
  WHERE project = ? AND status = 'queued' ORDER BY id LIMIT ${LOOKED_AT}`;
const OLDEST_NEXT = `SELECT min(created_at) AS at FROM (SELECT created_at FROM tasks
  WHERE project = ? AND pool = ? AND type = ? AND schema_version = ? AND status = 'queued' AND ready = 1
  ORDER BY rank LIMIT ${LOOKED_AT})`;

interface Place {
  readonly pool: string;
  readonly type: string;
  readonly schemaVersion: number;
  /** Index in the claim's `want`. */
  readonly want: number;
}

/**
 * The places of the queue that a claim has to look into. Where it names many, first those that hold anything
 * are found by hopping through the index: an idle queue costs one look, however much a worker can do.
 */
export function placesToLook(
  c: Connection,
  { project, pools, want }: ClaimQuery,
): readonly Place[] {
  const all = pools.length * want.length;
  if (all > HOP_FROM) {
    const held = heldPlaces(c, project, all);
    if (held) {
      const wanted = new Map(want.map((w, i) => [`${w.type}@${w.schemaVersion}`, i]));
      return held.flatMap((place) => {
        const index = wanted.get(`${place.type}@${place.schemaVersion}`);
        return index === undefined || !pools.includes(place.pool)
          ? []
          : [{ ...place, want: index }];
      });
    }
  }
  return want.flatMap(({ type, schemaVersion }, index) =>
    pools.map((pool) => ({ pool, type, schemaVersion, want: index })),
  );
}

/** From this many places on hopping is the cheaper way. */
const HOP_FROM = 8;

/** Every place of the project that holds a task, or `undefined` if there are more than `max`. */
function heldPlaces(
  c: Connection,
  project: string,
  max: number,
): { pool: string; type: string; schemaVersion: number }[] | undefined {
  const held: { pool: string; type: string; schemaVersion: number }[] = [];
  let after = { pool: '', type: '', schemaVersion: 0 };
  for (;;) {
    const row =
      c.get(NEXT_VERSION, project, after.pool, after.type, after.schemaVersion) ??
      c.get(NEXT_TYPE, project, after.pool, after.type) ??
      c.get(NEXT_POOL, project, after.pool);
    if (row === undefined) return held;
    if (held.length >= max) return undefined;
    after = {
      pool: row.pool as string,
      type: row.type as string,
      schemaVersion: row.schema_version as number,
    };
    held.push(after);
  }
}

// One statement for all three would read the whole range between two places.
const HELD = "status = 'queued' AND ready = 1";
const NEXT_VERSION = `SELECT pool, type, schema_version FROM tasks
  WHERE project = ? AND pool = ? AND type = ? AND schema_version > ? AND ${HELD} ORDER BY schema_version LIMIT 1`;
const NEXT_TYPE = `SELECT pool, type, schema_version FROM tasks
  WHERE project = ? AND pool = ? AND type > ? AND ${HELD} ORDER BY type, schema_version LIMIT 1`;
const NEXT_POOL = `SELECT pool, type, schema_version FROM tasks
  WHERE project = ? AND pool > ? AND ${HELD} ORDER BY pool, type, schema_version LIMIT 1`;
