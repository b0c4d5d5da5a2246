import { randomFill } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, stat, statfs, unlink } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import type { Disk, Sight } from '../ports/disk.ts';
import { makeOpen } from './open-file.ts';
import { whileBusy } from './while-busy.ts';

/** The machine's file systems. `platform` is for tests of what only Windows does. */
export function systemDisk(platform: NodeJS.Platform = process.platform): Disk {
  return {
    async makeFolder(folder) {
      const first = await makeWithParents(resolve(folder));
      if (first === undefined) {
        // It may be there since a process that was killed before it could make the name durable.
        await syncFolder(dirname(resolve(folder)), platform).catch(() => {});
        return;
      }
      // Each folder made is a name in its parent.
      for (let made = resolve(folder); ; made = dirname(made)) {
        await syncFolder(dirname(made), platform);
        if (made === resolve(first) || made === dirname(made)) return;
      }
    },
    writeFile: (file, data) => whileBusy(platform, () => writeBeside(file, data)),
    async takeRoom(file, bytes) {
      const noise = await madeNoise(bytes);
      await whileBusy(platform, () => writeBeside(file, noise));
    },
    async appendFile(file, data) {
      const { O_APPEND, O_CREAT, O_WRONLY } = constants;
      const handle = await open(file, O_APPEND | O_CREAT | O_WRONLY | ITSELF, 0o600);
      try {
        await handle.writeFile(data);
      } finally {
        await handle.close();
      }
    },
    async writeOver(file, data) {
      const handle = await open(file, constants.O_RDWR | ITSELF);
      try {
        if (!(await handle.stat()).isFile()) throw irregular(file, 'EFTYPE', 'no regular file');
        const bytes = typeof data === 'string' ? Buffer.from(data) : data;
        for (let done = 0; done < bytes.length; )
          done += (await handle.write(bytes, done, bytes.length - done, done)).bytesWritten;
        await handle.truncate(bytes.length);
        await handle.sync();
      } finally {
        await handle.close();
      }
    },
    makeOpen: (file) => makeOpen(file, ITSELF),
    async syncFile(file) {
      // Windows syncs no file that was opened for reading alone.
      const handle = await open(file, constants.O_RDWR | ITSELF);
      try {
        await handle.datasync();
      } finally {
        await handle.close();
      }
    },
    syncFolder: (folder) => syncFolder(folder, platform),
    async readFile(file) {
      const handle = await open(file, constants.O_RDONLY | ITSELF);
      try {
        if (!(await handle.stat()).isFile()) throw irregular(file, 'EFTYPE', 'no regular file');
        return new Uint8Array(await handle.readFile());
      } finally {
        await handle.close();
      }
    },
    async readPart(file, offset, bytes) {
      const handle = await open(file, constants.O_RDONLY | ITSELF);
      try {
        const seen = await handle.stat();
        if (!seen.isFile()) throw irregular(file, 'EFTYPE', 'no regular file');
        const part = Buffer.alloc(Math.max(0, Math.min(bytes, seen.size - offset)));
        let done = 0;
        while (done < part.length) {
          const { bytesRead } = await handle.read(part, done, part.length - done, offset + done);
          if (bytesRead === 0) break;
          done += bytesRead;
        }
        return part.subarray(0, done);
      } finally {
        await handle.close();
      }
    },
    async list(folder) {
      return (await unlessAbsent(readdir(folder)))?.sort() ?? [];
    },
    async stat(file) {
      const found = await unlessAbsent(stat(file));
      if (!found) return undefined;
      const { size, mtimeMs, blocks } = found;
      return { bytes: size, modifiedMs: mtimeMs, allocatedBytes: blocks * STAT_BLOCK_BYTES };
    },
    async remove(file) {
      await unlessAbsent(whileBusy(platform, () => unlink(file)));
    },
    async look(path, { follow = false } = {}) {
      const found = await unlessAbsent((follow ? stat : lstat)(path));
      return found && sight(found);
    },
    async restrict(path, { follow = false } = {}) {
      const handle = await open(path, constants.O_RDONLY | (follow ? 0 : ITSELF));
      try {
        await handle.chmod((await handle.stat()).isDirectory() ? 0o700 : 0o600);
      } finally {
        await handle.close();
      }
    },
    async freeBytes(folder) {
      const found = await unlessAbsent(statfs(folder, { bigint: true }));
      return found && Number(found.bavail * found.bsize);
    },
    rename: (from, to) => whileBusy(platform, () => rename(from, to)),
  };
}

/**
 * Temporary beside the target, fsync, rename, temporary removed on an error: by write-file-atomic. The
 * bytes are written here, into the temporary that it has opened, because it makes one `write` call and
 * takes a short one (a disk that becomes full in the middle) for success.
 */
async function writeBeside(file: string, data: string | Uint8Array): Promise<void> {
  // That library writes to where a link leads.
  const there = await unlessAbsent(lstat(file));
  if (there?.isSymbolicLink()) throw irregular(file, 'ELOOP', 'a symbolic link');
  await writeFileAtomic(file, NOTHING, {
    mode: 0o600,
    fsync: true,
    tmpfileCreated: async (temporary) => {
      const handle = await open(temporary, 'r+');
      try {
        await handle.writeFile(data);
      } finally {
        await handle.close();
      }
    },
  });
}

/** In the pool of threads: megabytes made by a hash of Node's held the event loop for 13 ms. */
function madeNoise(bytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    randomFill(Buffer.alloc(bytes), (error, made) => (error ? reject(error) : resolve(made)));
  });
}

const NOTHING = Buffer.alloc(0);
/** What `stat` counts in, whatever the blocks of the file system are. */
const STAT_BLOCK_BYTES = 512;

/** What lies there itself, not what a link leads to; and a pipe without another end is not waited for. */
const ITSELF = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

function irregular(path: string, code: string, what: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${path} is ${what}`), { code, path });
}

function sight(found: Stats): Sight {
  const kind = found.isFile()
    ? 'file'
    : found.isDirectory()
      ? 'folder'
      : found.isSymbolicLink()
        ? 'link'
        : 'other';
  const self = process.geteuid?.();
  // Windows has other means than these modes; what it shows of them says nothing.
  if (self === undefined) return { kind, ours: true, others: 'nothing' };
  const others =
    (found.mode & 0o022) !== 0 ? 'write' : (found.mode & 0o055) !== 0 ? 'read' : 'nothing';
  return { kind, ours: found.uid === self, others };
}

async function syncFolder(folder: string, platform: NodeJS.Platform): Promise<void> {
  // Windows opens no folder for that; NTFS journals its names in the order of the calls.
  if (platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } catch (error) {
    // A file system without this call (some network and user-space ones): there is nothing more to do.
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'EINVAL' && code !== 'ENOTSUP') throw error;
  } finally {
    await handle.close();
  }
}

async function unlessAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * The topmost folder that had to be made, if any. Not `mkdir`'s own `recursive`: where a parent takes no folders at all
 * (/proc) Node asks for ever.
 */
async function makeWithParents(folder: string): Promise<string | undefined> {
  try {
    await mkdir(folder, { mode: 0o700 });
    return folder;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return undefined;
    if (code !== 'ENOENT' || dirname(folder) === folder) throw cause;
    const first = await makeWithParents(dirname(folder));
    // The parent was there, and yet there is no such place: asking again would end nowhere.
    if (first === undefined) throw cause;
    // Somebody else may have made it meanwhile: then the parents are still ours to make durable.
    await mkdir(folder, { mode: 0o700 }).catch((again: NodeJS.ErrnoException) => {
      if (again.code !== 'EEXIST') throw again;
    });
    return first;
  }
}
