import { closeSync, fsyncSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { TaskError } from '../../contract/errors.ts';
import type { Connection } from './connection.ts';

/** What was lost, and whether anything that was acknowledged is. */
export interface StoreLoss {
  /** Its files were removed or replaced; or the disk could not keep what was written. */
  readonly by: 'files' | 'disk';
  readonly error: TaskError;
  /** What somebody does when the control plane has stopped. */
  readonly next: string;
  /** All that was acknowledged is in a file: folded into the database, or in a copy beside it. */
  readonly rescued: boolean;
  /** The log holds what was acknowledged, as far as the disk has kept it: the next start reads it. */
  readonly inLog?: boolean;
}

/**
 * Sees whether the open database and its write-ahead log still are the files at their paths: SQLite goes on writing into
 * files that were removed, and what is acknowledged from them is gone at the end. It is looked after every commit before
 * that is answered (two `stat`, about 2 µs), and at most every `LOOK_MS` of reading. What was lost once stays lost until
 * the next start; what could be saved is saved at once, since the process may be killed next.
 */
export class KeptFiles {
  readonly #file: string;
  readonly #writer: Connection;
  readonly #files: readonly { readonly path: string; readonly id: string }[];
  readonly #told: (loss: StoreLoss) => void;
  readonly #now: () => number;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #loss: StoreLoss | undefined;

  /** @param writer has the files open: they are there now. */
  constructor(
    file: string,
    writer: Connection,
    now: () => number,
    told: (loss: StoreLoss) => void = () => {},
  ) {
    this.#file = file;
    this.#writer = writer;
    this.#now = now;
    this.#told = told;
    this.#files = [file, `${file}-wal`].map((path) => ({ path, id: idOf(path) }));
  }

  get loss(): StoreLoss | undefined {
    return this.#loss;
  }

  /** Throws where they are lost: nothing may be answered from them. Outside a transaction. */
  check(): void {
    if (this.#loss === undefined) this.#look();
    if (this.#loss !== undefined) throw this.#loss.error;
  }

  /** The disk could not make durable what was written: SQLite cannot undo it, so nothing is answered from it any more. */
  failed(cause: Error): TaskError {
    if (this.#loss === undefined) {
      this.#loss = lossOfSync(this.#file, cause);
      this.#told(this.#loss);
    }
    return this.#loss.error;
  }

  /** The same for readers, who only look now and then. */
  checkSometimes(): void {
    const due = this.#now() - this.#lookedAt >= LOOK_MS;
    if (this.#loss === undefined && due && !this.#writer.database.isTransaction) this.#look();
    if (this.#loss !== undefined) throw this.#loss.error;
  }

  #look(): void {
    this.#lookedAt = this.#now();
    const [database, log] = this.#files.map(({ path, id }) => stateOf(path, id));
    if (database === 'there' && log === 'there') return;
    this.#loss =
      database === 'there' && log === 'gone'
        ? lossOfLog(this.#file, foldIn(this.#writer))
        : lossOf(this.#file, database !== 'there', saveCopy(this.#writer, this.#file));
    this.#told(this.#loss);
  }
}

/** As often as a sweep reads. */
const LOOK_MS = 250;

/** Where a copy of a lost database is put, beside it. */
export const RESCUED = '.rescued';

type FileState = 'there' | 'gone' | 'another';

/** Throws what else the system says: that passes (`EACCES`, `EIO`), and nothing is acknowledged meanwhile. */
function stateOf(path: string, id: string): FileState {
  const found = idOf(path);
  if (found === id) return 'there';
  return found === GONE ? 'gone' : 'another';
}

function idOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found ? `${found.dev}/${found.ino}` : GONE;
}

const GONE = 'gone';

/** The removed log is still open: everything in it goes into the database. */
function foldIn(writer: Connection): boolean {
  try {
    const [done] = writer.all('PRAGMA wal_checkpoint(TRUNCATE)');
    return done?.busy === 0;
  } catch {
    return false;
  }
}

/** The removed database is still open: a whole, durable copy of what it holds. @returns its path. */
function saveCopy(writer: Connection, file: string): string | undefined {
  const copy = `${file}${RESCUED}`;
  try {
    // For its owner alone; one of an earlier loss is never written over.
    closeSync(openSync(copy, 'wx', 0o600));
  } catch {
    return undefined;
  }
  try {
    writer.run('VACUUM INTO ?', copy);
    for (const path of [copy, dirname(copy)]) {
      const fd = openSync(path, 'r');
      try {
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
    }
    return copy;
  } catch {
    rmSync(copy, { force: true });
    return undefined;
  }
}

const REFUSING = 'Nothing is acknowledged any more, and every call is refused with 503';

function lossOfLog(file: string, rescued: boolean): StoreLoss {
  return loss(
    rescued,
    `The write-ahead log ${file}-wal was removed while the control plane ran. ${REFUSING}. ${
      rescued
        ? `What was acknowledged is safe: it was written into ${file}.`
        : 'What it acknowledged last could not be saved.'
    }`,
    rescued
      ? 'start it anew, and see that nothing cleans up in its data folder.'
      : `put ${file} and its -wal back from a backup, and start it anew.`,
  );
}

function lossOfSync(file: string, cause: Error): StoreLoss {
  return {
    ...loss(
      false,
      `The disk could not keep what was written into ${file}-wal (${cause.message}). ${REFUSING}: whether what was asked last is kept shows after a start. What was acknowledged was on the disk before.`,
      'look at the disk of the data folder (failing, full, its network away), and start it anew.',
    ),
    by: 'disk',
    inLog: true,
  };
}

function lossOf(file: string, database: boolean, copy: string | undefined): StoreLoss {
  const what = database ? `The database ${file}` : `The write-ahead log ${file}-wal`;
  return loss(
    copy !== undefined,
    `${what} was removed or replaced while the control plane ran. ${REFUSING}. ${
      copy === undefined
        ? 'What it held could not be saved beside it.'
        : `All that was acknowledged is saved in ${copy}.`
    }`,
    copy === undefined
      ? `put ${file} back from a backup with its -wal file if there is one, and start it anew. What was acknowledged since that backup is lost.`
      : `${backInPlace(file)}, and start it anew.`,
  );
}

/** What somebody does with the copy, as part of a sentence. */
export function backInPlace(file: string): string {
  return `remove ${file}-wal and ${file}-shm if they are there, rename ${file}${RESCUED} to ${file}`;
}

function loss(rescued: boolean, message: string, next: string): StoreLoss {
  const hint = `Stop the control plane; then ${next}`;
  const details = { reason: 'STORE_LOST', rescued };
  return {
    by: 'files',
    rescued,
    next,
    error: new TaskError('UNAVAILABLE', message, { retryable: true, hint, details }),
  };
}
