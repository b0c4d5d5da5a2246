import type { KeyKind } from '../../contract/index.ts';
import type { KeyRow, Reads, Transaction } from '../../ports/store.ts';
import type { Connection, Row } from './connection.ts';

/** Keys (their hashes), and forgetting. */

export function keyReads(c: Connection): Pick<Reads, 'keyByHash' | 'keyById' | 'countKeys'> {
  return {
    async keyByHash(hash) {
      const row = c.get('SELECT * FROM keys WHERE hash = ?', hash);
      return row && keyRow(row);
    },
    async keyById(id) {
      const row = c.get('SELECT * FROM keys WHERE id = ?', id);
      return row && keyRow(row);
    },
    async countKeys() {
      return c.get('SELECT count(*) AS n FROM keys')?.n as number;
    },
  };
}

function keyRow(row: Row): KeyRow {
  return {
    id: row.id as string,
    project: row.project as string,
    name: row.name as string,
    kind: row.kind as KeyKind,
    hash: row.hash as string,
    createdAtMs: row.created_at as number,
  };
}

export function keyWrites(c: Connection): Pick<Transaction, 'insertKey' | 'forget'> {
  return {
    async insertKey(key) {
      c.run(
        'INSERT INTO keys (id, project, name, kind, hash, created_at) VALUES (?, ?, ?, ?, ?, ?)',
        key.id,
        key.project,
        key.name,
        key.kind,
        key.hash,
        key.createdAtMs,
      );
    },

    async forget(beforeMs, limit) {
      let forgotten = 0;
      for (const [oldest, remove] of FORGET) {
        // Rows lie in the order in which they were made: the first that is young enough ends the search.
        const old = c.all(oldest, limit).filter((row) => (row.at as number) < beforeMs);
        for (const row of old) forgotten += c.run(remove, row.ref as number).changes;
      }
      c.run('DELETE FROM queue_counts WHERE queued = 0 AND running = 0');
      return forgotten;
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
