import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TaskError } from '../contract/errors.ts';
import { Connection } from './sqlite/connection.ts';

/**
 * One control plane per data folder. The lock is an exclusive transaction on a database of its own, held
 * for the life of the process: the system gives it back however the process ends, so there is none to break.
 */
export interface FolderOwner {
  /** The owner before ended without closing the database, so there must be a write-ahead log. */
  readonly leftLog: boolean;
  /** The database is open, or its log is in it: remembered for the next owner, should this one be killed. */
  hasLog(open: boolean): void;
  /** @param options.leftLog the log could not be folded in. */
  release(options?: { readonly leftLog?: boolean }): void;
}

/**
 * @param waitMs for one who only visits (`keys new`) to go.
 * @returns `undefined` where another process (or another part of this one) owns the folder.
 */
export function takeFolder(folder: string, waitMs: number): FolderOwner | undefined {
  const file = join(folder, LOCK);
  closeSync(openSync(file, 'a', 0o600));
  const lock = new Connection(file);
  try {
    lock.script(`PRAGMA busy_timeout = ${waitMs}; BEGIN EXCLUSIVE`);
  } catch (error) {
    lock.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  const { log: leftLog } = readOwner(folder);
  const write = (log: boolean) => {
    const text = `${JSON.stringify({ pid: process.pid, ...(log && { log }) })}\n`;
    writeFileSync(join(folder, OWNER), text, { mode: 0o600 });
  };
  write(leftLog);
  return {
    leftLog,
    hasLog: write,
    release({ leftLog: left = false } = {}) {
      if (!lock.database.isOpen) return;
      if (!left) rmSync(join(folder, OWNER), { force: true });
      lock.close();
    },
  };
}

/** Says who owns the folder, as far as it is known. */
export function ownedError(folder: string): TaskError {
  return new TaskError(
    'DATA_IN_USE',
    `The data folder ${folder} is in use by another control plane${ownerText(folder)}.`,
    {
      hint: 'Stop it first, or give this one a --data folder of its own. Several nodes on one queue need PostgreSQL.',
    },
  );
}

function ownerText(folder: string): string {
  const { pid } = readOwner(folder);
  return pid === undefined ? '' : ` (process ${pid})`;
}

function readOwner(folder: string): { readonly pid: number | undefined; readonly log: boolean } {
  try {
    const { pid, log } = JSON.parse(readFileSync(join(folder, OWNER), 'utf8')) as {
      pid?: unknown;
      log?: unknown;
    };
    return { pid: typeof pid === 'number' ? pid : undefined, log: log === true };
  } catch {
    return { pid: undefined, log: false };
  }
}

function isBusy(error: unknown): boolean {
  return (error as { errcode?: unknown }).errcode === SQLITE_BUSY;
}

const SQLITE_BUSY = 5;
const LOCK = 'lock';
/** Holds the process, for people, and `log`: see `FolderOwner`. */
export const OWNER = 'owner.json';
