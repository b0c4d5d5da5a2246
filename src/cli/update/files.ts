import { constants } from 'node:fs';
import {
  chmod,
  chown,
  copyFile,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rmdir,
  stat,
  statfs,
  unlink,
} from 'node:fs/promises';
import { whileBusy } from '../../system/while-busy.ts';

/** What an update does to the disk, one step a call, so that a test can stop it between any two. Fails with the system's error. */
export interface UpdateFiles {
  /** `undefined` where there is nothing. Links are not followed. */
  look(path: string): Promise<FileSight | undefined>;
  list(folder: string): Promise<string[]>;
  /** For this user alone. One that is there is fine. */
  makeFolder(path: string): Promise<void>;
  read(path: string): Promise<string | undefined>;
  /** A new file, for this user alone, on the disk when it resolves. Fails where there is one already. */
  write(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void>;
  /** Mode and owner, on the disk when it resolves. */
  give(
    path: string,
    like: { readonly mode: number; readonly uid: number; readonly gid: number },
  ): Promise<void>;
  /** A second name of the same file; a copy where the file system has no such thing. */
  twin(from: string, to: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Nothing there is fine. */
  remove(path: string): Promise<void>;
  /** Where it is empty. */
  removeFolder(path: string): Promise<void>;
  /** Names in it are durable: made, renamed and removed before. */
  syncFolder(path: string): Promise<void>;
  /** What this user can write there; `undefined` where the system does not tell. */
  freeBytes(folder: string): Promise<number | undefined>;
}

export interface FileSight {
  readonly kind: 'file' | 'folder' | 'other';
  /** The same for the same file, whatever its name. */
  readonly identity: string;
  readonly bytes: number;
  /** Of the permissions alone. */
  readonly mode: number;
  /** The set-user-id (0o4000) and set-group-id (0o2000) bits. */
  readonly setId: number;
  readonly uid: number;
  readonly gid: number;
}

export function systemFiles(): UpdateFiles {
  const windows = process.platform === 'win32';
  return {
    look: (path) => lookAt(path, lstat),
    list: (folder) => readdir(folder),
    async makeFolder(path) {
      await mkdir(path, { mode: 0o700 }).catch(unless('EEXIST'));
    },
    async read(path) {
      return readFile(path, 'utf8').catch(unless('ENOENT'));
    },
    async write(path, pieces) {
      const file = await open(path, 'wx', 0o600);
      try {
        for await (const piece of pieces) await file.appendFile(piece);
        await file.sync();
      } finally {
        await file.close();
      }
    },
    async give(path, { mode, uid, gid }) {
      if (windows) return;
      const seen = await stat(path);
      if (seen.uid !== uid || seen.gid !== gid)
        // Only root gives files away; what a user writes is the user's.
        await chown(path, uid, gid).catch(unless('EPERM', 'EINVAL', 'ENOSYS'));
      // FAT and the like have no modes.
      await chmod(path, mode).catch(unless('EPERM', 'ENOSYS'));
      await synced(path);
    },
    async twin(from, to) {
      try {
        await link(from, to);
      } catch (error) {
        if (!NO_LINKS.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
        await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
        await synced(to);
      }
    },
    rename: (from, to) => whileBusy(process.platform, () => rename(from, to)),
    async remove(path) {
      await unlink(path).catch(unless('ENOENT'));
    },
    async removeFolder(path) {
      await rmdir(path).catch(unless('ENOENT', 'ENOTEMPTY', 'EEXIST'));
    },
    async syncFolder(path) {
      // Windows does not open folders.
      if (!windows) await synced(path);
    },
    async freeBytes(folder) {
      const { bavail, bsize } = await statfs(folder);
      // Some network file systems tell zeros.
      return bsize > 0 ? bavail * bsize : undefined;
    },
  };
}

/** As `look`, of the file behind a link such as `/proc/7/exe`. Never rejects. */
export async function identityBehind(path: string): Promise<string | undefined> {
  return (await lookAt(path, stat).catch(() => undefined))?.identity;
}

async function lookAt(path: string, how: typeof stat): Promise<FileSight | undefined> {
  const seen = await how(path).catch(unless('ENOENT', 'ENOTDIR'));
  if (!seen) return undefined;
  const { dev, ino, size: bytes, mode, uid, gid } = seen;
  const kind = seen.isFile() ? 'file' : seen.isDirectory() ? 'folder' : 'other';
  const identity = `${dev}:${ino}`;
  return { kind, identity, bytes, mode: mode & 0o777, setId: mode & 0o6000, uid, gid };
}

async function synced(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function unless(...codes: string[]): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (codes.includes(error.code ?? '')) return undefined;
    throw error;
  };
}

/** FAT, exFAT, some network file systems; and `fs.protected_hardlinks` for other users' files. */
const NO_LINKS = new Set(['EPERM', 'EACCES', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'EXDEV']);
