import { closeSync, fdatasyncSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { TaskError } from '../../contract/errors.ts';
import type { Connection } from './connection.ts';

/** Asked before the database is opened. @returns whether an earlier process has left something in its log. */
export function leftLog(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/**
 * Makes durable what an earlier process has left in the log, all of which is read from now on and built upon. A sync alone
 * does not: pages that the disk has refused once count as written afterwards (Linux), so a sync says yes to a log with a
 * hole in it, and after a power cut everything behind the hole is gone. So each byte is written once more, then synced.
 * After that the log is folded in and begun anew if that can be done now; nothing depends on it. 16 MB take some hundredths
 * of a second and what the disk needs.
 *
 * @param c of the owner of the file, outside a transaction.
 * @throws TaskError `DATA_UNUSABLE` where another program holds the lock for writers; else what the disk says.
 */
export function keepLeftLog(c: Connection, file: string): void {
  try {
    // Nobody else writes into it meanwhile, or begins it anew.
    c.step('BEGIN IMMEDIATE');
  } catch (cause) {
    throw lockedError(file, cause);
  }
  try {
    writeAgain(`${file}-wal`);
  } finally {
    c.step('ROLLBACK');
  }
  const [before] = c.all('PRAGMA busy_timeout');
  try {
    c.script('PRAGMA busy_timeout = 0');
    c.all('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // A full disk, or somebody reads: it is met again when the log grows.
  } finally {
    c.script(`PRAGMA busy_timeout = ${Number(before?.timeout)}`);
  }
}

/** The log may be opened and closed here: SQLite's locks are on the other two files. */
function writeAgain(log: string): void {
  const fd = openSync(log, 'r+');
  try {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    for (let at = 0; ; ) {
      const read = readSync(fd, piece, 0, PIECE_BYTES, at);
      if (read === 0) break;
      for (let done = 0; done < read; ) done += writeSync(fd, piece, done, read - done, at + done);
      at += read;
    }
    fdatasyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

const PIECE_BYTES = 1_048_576;

function lockedError(file: string, cause: unknown): TaskError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new TaskError(
    'DATA_UNUSABLE',
    `What an earlier control plane left in ${file}-wal cannot be made durable: another program holds the lock for writers (${why}).`,
    { hint: `End what has ${file} open (an SQLite shell, a backup), then start it again.`, cause },
  );
}
