import type { KeyKind, KeyLimits } from '../../contract/index.ts';
import type { KeyRow, Reads, Stamped, Transaction } from '../../ports/store.ts';
import { type Connection, json, jsonOrNull, number, type Row } from './connection.ts';
import type { Kept } from './kept.ts';

/** Keys (their hashes), and forgetting. */

export function keyReads(
  c: Connection,
): Pick<
  Reads,
  | 'keyByHash'
  | 'keyById'
  | 'keys'
  | 'projects'
  | 'countKeys'
  | 'countUsableKeys'
  | 'countRevokedKeys'
> {
  return {
    async keyByHash(hash) {
      const row = c.get('SELECT * FROM keys WHERE hash = ?', hash);
      return row && keyRow(row);
    },
    async keyById(id) {
      const row = c.get('SELECT * FROM keys WHERE id = ?', id);
      return row && keyRow(row);
    },
    async keys({ project, belowId, limit }) {
      const rows = c.all(
        'SELECT * FROM keys WHERE project = ? AND id < ? ORDER BY id DESC LIMIT ?',
        project,
        belowId ?? ABOVE_ALL_IDS,
        limit,
      );
      return rows.map(keyRow);
    },
    async projects() {
      // From one name to the next by the index: a project may have many keys.
      const rows = c.all(
        `WITH RECURSIVE found(name) AS (
           SELECT min(project) FROM keys
           UNION ALL
           SELECT (SELECT min(project) FROM keys WHERE project > found.name) FROM found WHERE found.name IS NOT NULL
         ) SELECT name FROM found WHERE name IS NOT NULL LIMIT 200`,
      );
      return rows.map(({ name }) => name as string);
    },
    async countKeys() {
      return c.get('SELECT count(*) AS n FROM keys')?.n as number;
    },
    async countUsableKeys(project, kind, atMs) {
      return c.get(
        `SELECT count(*) AS n FROM keys WHERE project = ? AND kind = ?
           AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`,
        project,
        kind,
        atMs,
      )?.n as number;
    },
    async countRevokedKeys() {
      return c.get('SELECT count(*) AS n FROM keys WHERE revoked_at IS NOT NULL')?.n as number;
    },
  };
}

/** Ids are ASCII. */
const ABOVE_ALL_IDS = '\uffff';

function keyRow(row: Row): KeyRow {
  return {
    id: row.id as string,
    project: row.project as string,
    name: row.name as string,
    kind: row.kind as KeyKind,
    hash: row.hash as string,
    createdAtMs: row.created_at as number,
    expiresAtMs: number(row.expires_at),
    revokedAtMs: number(row.revoked_at),
    lastUsedAtMs: number(row.last_used_at),
    limits: json<KeyLimits>(row.limits),
  };
}

export function keyWrites(
  c: Connection,
  now: () => number,
  kept: Kept,
): Pick<Transaction, 'insertKey' | 'revokeKey' | 'stampKeys' | 'forget' | 'stampAsOfNow'> {
  return {
    async insertKey(key) {
      kept.touched.keys = true;
      c.run(
        `INSERT INTO keys (id, project, name, kind, hash, created_at, expires_at, limits)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        key.id,
        key.project,
        key.name,
        key.kind,
        key.hash,
        key.createdAtMs,
        key.expiresAtMs ?? null,
        jsonOrNull(key.limits),
      );
    },

    async revokeKey(id) {
      kept.touched.keys = true;
      c.run('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL', now(), id);
    },

    async stampKeys(usedAtMs) {
      kept.touched.keys = true;
      for (const [id, at] of usedAtMs)
        c.run(
          'UPDATE keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)',
          at,
          id,
          at,
        );
    },

    async forget(beforeMs, limit) {
      kept.touched.others = true;
      let forgotten = 0;
      for (const [oldest, remove] of FORGET) {
        // Rows lie in the order in which they were made: the first that is young enough ends the search.
        const old = c.all(oldest, limit).filter((row) => (row.at as number) < beforeMs);
        for (const row of old) forgotten += c.run(remove, row.ref as number).changes;
      }
      c.run('DELETE FROM queue_counts WHERE queued = 0 AND running = 0');
      return forgotten;
    },

    async stampAsOfNow(what, before, limit) {
      kept.touched.others = true;
      const { page, stamp, inOrder } = STAMPS[what];
      const rows = c.all(page, before, limit);
      const nowMs = now();
      const ahead = rows.filter((row) => (row.at as number) > nowMs);
      let aheadMs = 0;
      for (const row of ahead) {
        aheadMs = Math.max(aheadMs, (row.at as number) - nowMs);
        c.run(stamp, nowMs, row.ref as number);
      }
      const more = rows.length === limit && (!inOrder || ahead.length === limit);
      return {
        changed: ahead.length,
        aheadMs,
        next: more ? (rows.at(-1)?.ref as number) : undefined,
      };
    },
  };
}

const FORGET: readonly (readonly [string, string])[] = [
  ['SELECT ref, at FROM claims ORDER BY ref LIMIT ?', 'DELETE FROM claims WHERE ref = ?'],
  ['SELECT ref, at FROM actions ORDER BY ref LIMIT ?', 'DELETE FROM actions WHERE ref = ?'],
  // Few rows: one per process start. The current session of a worker is kept as long as the worker is.
  [
    `SELECT ref, seen_at AS at FROM sessions AS s WHERE NOT EXISTS (
       SELECT 1 FROM workers AS w WHERE w.project = s.project AND w.worker_id = s.worker_id AND w.session_id = s.session_id)
     ORDER BY seen_at LIMIT ?`,
    'DELETE FROM sessions WHERE ref = ?',
  ],
  [
    `SELECT ref, last_seen AS at FROM workers AS w WHERE NOT EXISTS (
       SELECT 1 FROM attempts AS a WHERE a.project = w.project AND a.worker_id = w.worker_id AND a.ended_at IS NULL)
     ORDER BY last_seen LIMIT ?`,
    'DELETE FROM workers WHERE ref = ?',
  ],
];

/** `inOrder`: rows lie in the order of their stamps, so the first that is not ahead ends the search; of the others there are few. */
const STAMPS: Readonly<
  Record<Stamped, { readonly page: string; readonly stamp: string; readonly inOrder: boolean }>
> = {
  workers: {
    page: 'SELECT ref, last_seen AS at FROM workers WHERE ref < ? ORDER BY ref DESC LIMIT ?',
    stamp: 'UPDATE workers SET last_seen = ? WHERE ref = ?',
    inOrder: false,
  },
  sessions: {
    page: 'SELECT ref, seen_at AS at FROM sessions WHERE ref < ? ORDER BY ref DESC LIMIT ?',
    stamp: 'UPDATE sessions SET seen_at = ? WHERE ref = ?',
    inOrder: false,
  },
  claims: {
    page: 'SELECT ref, at FROM claims WHERE ref < ? ORDER BY ref DESC LIMIT ?',
    stamp: 'UPDATE claims SET at = ? WHERE ref = ?',
    inOrder: true,
  },
  actions: {
    page: 'SELECT ref, at FROM actions WHERE ref < ? ORDER BY ref DESC LIMIT ?',
    stamp: 'UPDATE actions SET at = ? WHERE ref = ?',
    inOrder: true,
  },
};
