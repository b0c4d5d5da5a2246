import fs from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import lockfile from 'proper-lockfile';
import type { FolderLock, HeldLock, LockSight } from '../ports/folder-lock.ts';

/**
 * The lock of a folder: `owner.lock` in it, by proper-lockfile (a name that only one can make; its time of change renewed
 * while it is held). That library knows no pids, takes a crashed
 * holder for alive for `stale` ms, a stopped one for dead, and can let two in that break a stale lock at the
 * same time. So breaking is left to the caller here, who judges behind a door: a second lock of the same kind.
 */
export function systemFolderLock(): FolderLock {
  return {
    take: (folder, onLost) => take(join(folder, 'owner.lock'), LIFE_SIGN_MS, onLost),
    look: (folder) => look(join(folder, 'owner.lock')),
    breakOpen: (folder) => remove(join(folder, 'owner.lock')),
    async door(folder, work) {
      const door = join(folder, 'owner.door');
      const held = await enter(door);
      try {
        return await work();
      } finally {
        await held.release();
      }
    },
  };
}

async function take(
  path: string,
  lifeSignMs: number,
  onLost: (why: string) => void,
): Promise<HeldLock | undefined> {
  let released = false;
  let release: () => Promise<void>;
  try {
    // It keeps its own list by the first name, so the two locks of a folder need two names.
    release = await lockfile.lock(path, {
      lockfilePath: path,
      realpath: false,
      fs: EMPTY_FILES,
      // Never broken here: a lock that seems stale may belong to a stopped process.
      stale: NEVER_MS,
      update: lifeSignMs,
      onCompromised: (error) => {
        if (!released) onLost(error.message);
      },
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ELOCKED') return undefined;
    throw error;
  }
  return {
    async release() {
      if (released) return;
      released = true;
      // Gone already, or taken away: then it is not ours to remove.
      await release().catch(() => {});
    },
  };
}

async function look(path: string): Promise<LockSight | undefined> {
  try {
    const seen = await stat(path, { bigint: true });
    return { stamp: `${seen.ino}:${seen.mtimeNs}`, touchedAtMs: Number(seen.mtimeMs) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}

/** Waits for the door. Its holder needs milliseconds; one that was killed behind it holds it no longer than this. */
async function enter(path: string): Promise<HeldLock> {
  let seen = await look(path);
  let sinceMs = process.hrtime.bigint();
  for (;;) {
    const held = await take(path, DOOR_SIGN_MS, () => {});
    if (held) return held;
    const now = await look(path);
    if (now?.stamp !== seen?.stamp) {
      seen = now;
      sinceMs = process.hrtime.bigint();
    } else if (Number(process.hrtime.bigint() - sinceMs) / 1e6 > DOOR_STALE_MS) {
      await remove(path);
    }
    await wait(DOOR_WAIT_MS);
  }
}

/**
 * The library's locks are folders, and a new folder takes a block: there would be none on a full disk, where a worker must
 * start all the same. An empty file takes none, and only one can make it too. A folder is one of an earlier version.
 */
const EMPTY_FILES = {
  ...fs,
  mkdir: (path: string, done: (error: NodeJS.ErrnoException | null) => void) =>
    fs.open(path, 'wx', 0o600, (error, file) => (error ? done(error) : fs.close(file, done))),
  rmdir: (path: string, done: (error: NodeJS.ErrnoException | null) => void) =>
    fs.rm(path, { recursive: true, force: true }, done),
  rmdirSync: (path: string) => fs.rmSync(path, { recursive: true, force: true }),
};
/** The library's own judgement by age is switched off: 139 years. */
const NEVER_MS = 2 ** 42;
/** Three of these unseen and a holder of another host counts as gone (`spoolDefaults.lockSilenceMs`). */
const LIFE_SIGN_MS = 3_000;
/** Five of these unseen and the door is broken open: the library's shortest. */
const DOOR_SIGN_MS = 1_000;
const DOOR_STALE_MS = 5_000;
const DOOR_WAIT_MS = 20;
