import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TaskError } from '../contract/errors.ts';
import { Connection } from './sqlite/connection.ts';

/**
 * One control plane per data folder. The lock is an exclusive transaction on a database of its own, held
 * for the life of the process: the system gives it back however the process ends, so there is none to break.
 */
export interface FolderOwner {
  release(): void;
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
  writeFileSync(join(folder, OWNER), `${JSON.stringify({ pid: process.pid })}\n`, { mode: 0o600 });
  return {
    release() {
      if (!lock.database.isOpen) return;
      rmSync(join(folder, OWNER), { force: true });
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
  try {
    const { pid } = JSON.parse(readFileSync(join(folder, OWNER), 'utf8')) as { pid?: unknown };
    return typeof pid === 'number' ? ` (process ${pid})` : '';
  } catch {
    return '';
  }
}

function isBusy(error: unknown): boolean {
  return (error as { errcode?: unknown }).errcode === SQLITE_BUSY;
}

const SQLITE_BUSY = 5;
const LOCK = 'lock';
const OWNER = 'owner.json';
