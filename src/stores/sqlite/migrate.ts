import { TaskError } from '../../contract/errors.ts';
import first from '../migrations/001-first.sql';
import queuedAt from '../migrations/002-queued-at.sql';
import keys from '../migrations/003-keys.sql';
import losing from '../migrations/004-losing.sql';
import counts from '../migrations/005-counts.sql';
import texts from '../migrations/006-texts.sql';
import shortPayloads from '../migrations/007-short-payloads.sql';
import type { Connection } from './connection.ts';

/** In order; the number of the last one is the version of the database. Never change one that was released. */
const MIGRATIONS: readonly string[] = [first, queuedAt, keys, losing, counts, texts, shortPayloads];

/** Versions of the database; from 0: it was made. */
export interface Upgrade {
  readonly from: number;
  readonly to: number;
}

/**
 * Brings the tables up to this code's version, each step in a transaction of its own.
 *
 * @returns what it did; `undefined`: nothing, they were at this version.
 */
export function migrate(c: Connection, file: string, mayChange: boolean): Upgrade | undefined {
  const version = () => c.get('PRAGMA user_version')?.user_version as number;
  const from = version();
  if (from > MIGRATIONS.length) {
    throw new TaskError(
      'STORE_TOO_NEW',
      `The database ${file} has version ${from}, this program knows versions up to ${MIGRATIONS.length}: a newer one has used it. Nothing was changed.`,
      {
        hint: 'Run that newer interlock. To go back for good, give --data the copy of the folder from before its first start (what was done since is missing there); any other folder is an empty queue with keys of its own.',
      },
    );
  }
  if (from < MIGRATIONS.length && !mayChange) {
    throw new TaskError(
      'STORE_TOO_OLD',
      // Who has it cannot be told from here: an older control plane, or a command that is at it right now.
      `The database ${file} has version ${from} and is in use, or is being brought up to date by another command; this program wants version ${MIGRATIONS.length}.`,
      {
        hint: 'Try again in a moment. If it says the same and a control plane runs: use its interlock, or restart it with this version.',
      },
    );
  }
  while (version() < MIGRATIONS.length) {
    c.script('BEGIN IMMEDIATE');
    try {
      // Looked at again behind the lock: another process may have been first.
      const next = version();
      const script = MIGRATIONS[next];
      if (script !== undefined) {
        c.script(script);
        c.script(`PRAGMA user_version = ${next + 1}`);
      }
      c.script('COMMIT');
    } catch (error) {
      // On a full disk SQLite has undone it already.
      if (c.database.isTransaction) c.script('ROLLBACK');
      throw error;
    }
  }
  return from < MIGRATIONS.length ? { from, to: MIGRATIONS.length } : undefined;
}
