import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { TaskError } from '../contract/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { Store } from '../ports/store.ts';
import { DATABASE, refuseForeign, refuseLost, SECRET } from './data-check.ts';
import { type FolderOwner, ownedError, takeFolder } from './folder-owner.ts';
import type { StoreLoss } from './sqlite/kept-files.ts';
import type { SyncFile } from './sqlite/log-sync.ts';
import type { Upgrade } from './sqlite/migrate.ts';
import { openSqliteStore } from './sqlite.ts';
import { syncFolder } from './sync-folder.ts';

/** A control plane's folder: the database, the secret that signs lease tokens, and the lock. */
export interface DataFolder {
  readonly folder: string;
  readonly store: Store;
  /** 32 bytes, made with the folder. */
  readonly secret: Uint8Array;
  /** The files of the store were taken away while it was open. */
  readonly loss: StoreLoss | undefined;
  /** Closes the store and gives the folder back. Twice is fine. */
  close(): Promise<void>;
}

/**
 * Opens a data folder. One that is not there is made, 0700; one that is there keeps its mode. Its files are 0600.
 *
 * @param options.as `owner`: for a control plane, alone. `visitor`: for `keys new` on the same host, also while
 *   the control plane runs.
 * @throws TaskError `DATA_IN_USE`, `DATA_UNUSABLE`, `STORE_TOO_NEW`, `STORE_TOO_OLD`.
 */
export function openDataFolder(
  dir: string,
  options: {
    readonly clock: Clock;
    readonly random: Random;
    readonly as: 'owner' | 'visitor';
    /** See `SqliteOptions`. */
    readonly onLoss?: (loss: StoreLoss) => void;
    readonly onUpgrade?: (upgrade: Upgrade) => void;
    readonly sync?: SyncFile;
  },
): DataFolder {
  const folder = resolve(dir);
  return usable(folder, () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    refuseForeign(folder);
    const owner = takeFolder(folder, options.as === 'owner' ? VISIT_MS : 0);
    if (!owner && options.as === 'owner') throw ownedError(folder);
    let opened = false;
    try {
      const file = join(folder, DATABASE);
      if (owner) refuseLost(folder, owner.leftLog);
      // SQLite gives its further files the rights of this one.
      closeSync(openSync(file, 'a', 0o600));
      // Tables under a running control plane are its own to change.
      let loss: StoreLoss | undefined;
      const onLoss = (found: StoreLoss) => {
        loss = found;
        // Nothing is in the log that is not in the file as well, however this process ends.
        if (found.rescued) remember(owner, false);
        options.onLoss?.(found);
      };
      opened = true;
      const store = openSqliteStore({ ...options, file, migrates: owner !== undefined, onLoss });
      remember(owner, true);
      const secret = secretBeside(store, folder, options.random);
      const close = async () => {
        await store.close();
        const log = loss && (loss.inLog ? existsSync(`${file}-wal`) : !loss.rescued);
        owner?.release({ leftLog: log ?? false });
      };
      return {
        folder,
        store,
        secret,
        get loss() {
          return loss;
        },
        close,
      };
    } catch (error) {
      // A missing log is missing until somebody has decided.
      owner?.release({ leftLog: owner.leftLog && !opened });
      throw error;
    }
  });
}

/** For the log of a control plane, and for people whose command was the first on the folder. */
export function upgradeWords(folder: string, { from, to }: Upgrade): string {
  return `The database in ${folder} was brought from version ${from} to ${to}: an earlier interlock does not open it any more. The way back is a copy of the folder from before.`;
}

/** Best effort: a disk that is full or a folder that is gone does not keep anybody from starting or ending. */
function remember(owner: FolderOwner | undefined, log: boolean): void {
  try {
    owner?.hasLog(log);
  } catch {
    // Then the next start takes a missing log for one that was closed in order.
  }
}

/** A visitor makes a key and goes. */
const VISIT_MS = 1_000;
const SECRET_BYTES = 32;

/** After the tables, so that a secret without a database tells of a loss (`refuseLost`). */
function secretBeside(store: Store, folder: string, random: Random): Uint8Array {
  try {
    return readSecret(folder, random);
  } catch (error) {
    void store.close();
    throw error;
  }
}

function readSecret(folder: string, random: Random): Uint8Array {
  const file = join(folder, SECRET);
  const found = readIfThere(file) ?? makeSecret(folder, file, random);
  const secret = Buffer.from(found.trim(), 'hex');
  if (secret.byteLength < SECRET_BYTES) {
    throw new TaskError('DATA_UNUSABLE', `The file ${file} does not hold a secret.`, {
      hint: 'Restore it from a backup, or remove it: a new one is made, and attempts that run now become stale.',
    });
  }
  return secret;
}

/**
 * Written beside and linked: a crash leaves none or a whole one, and who comes second takes the first's. The name is on the
 * disk before anything is signed with it: after a power cut another one would make all that runs stale.
 */
function makeSecret(folder: string, file: string, random: Random): string {
  const text = `${Buffer.from(random.bytes(SECRET_BYTES)).toString('hex')}\n`;
  const beside = join(folder, `${SECRET}.${Buffer.from(random.bytes(6)).toString('hex')}`);
  const fd = openSync(beside, 'wx', 0o600);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  try {
    linkSync(beside, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(beside, { force: true });
  }
  syncFolder(folder);
  return readIfThere(file) ?? text;
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** What the system or SQLite says against the folder, with the next step. */
function usable<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof TaskError) throw cause;
    throw new TaskError(
      'DATA_UNUSABLE',
      `The data folder ${folder} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}.`,
      {
        hint: 'It must be a folder of this user on a local disk with free space; name another one with --data.',
        cause,
      },
    );
  }
}
