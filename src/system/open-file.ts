import fs, { constants } from 'node:fs';
import type { OpenFile } from '../ports/disk.ts';

/**
 * A file that is added to and synced thousands of times a second: by its descriptor, since each step is then one call of
 * the system and one round through the thread pool. @param flags beside those that are needed
 */
export async function makeOpen(path: string, flags: number): Promise<OpenFile> {
  const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = constants;
  const fd = await opened(path, O_APPEND | O_CREAT | O_EXCL | O_WRONLY | flags, 0o600);
  const { ino } = fs.fstatSync(fd);
  let size = 0;
  let closed: Promise<void> | undefined;
  /** What still uses the descriptor: once it is closed, its number may be another file's. */
  const underWay = new Set<Promise<unknown>>();
  const using = (work: () => Promise<void>): Promise<void> => {
    if (closed) return Promise.reject(failure('EBADF', `${path} was closed`, path));
    const all = work();
    const settled: Promise<unknown> = all.catch(() => {}).then(() => underWay.delete(settled));
    underWay.add(settled);
    return all;
  };
  return {
    add(data) {
      const bytes = Buffer.from(data);
      return using(async () => {
        try {
          // A disk that becomes full in the middle takes a part; the next call says why.
          for (let done = 0; done < bytes.length; ) {
            // Whoever has the file now may have added to it already: the rest would stand apart.
            if (closed && done > 0) throw failure('EBADF', `${path} was closed`, path);
            done += await written(fd, bytes, done, bytes.length - done);
          }
        } catch (error) {
          // For the same reason nothing is cut off then: what was added after it would go with it.
          if (!closed) await cut(fd, size).catch(() => {});
          throw error;
        }
        size += bytes.length;
      });
    },
    sync() {
      return using(async () => {
        const least = size;
        await synced(fd);
        // Of the system's memory: it waits for no disk.
        const there = fs.statSync(path, { throwIfNoEntry: false });
        if (there?.ino !== ino) throw failure('ENOENT', `${path} was removed or moved`, path);
        if (there.size < least) throw failure('EIO', `${path} was cut by somebody`, path);
      });
    },
    close() {
      closed ??= Promise.all(underWay).then(
        () => new Promise<void>((resolve) => fs.close(fd, () => resolve())),
      );
      return closed;
    },
  };
}

function failure(code: string, what: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${what}`), { code, path });
}

function opened(path: string, flags: number, mode: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.open(path, flags, mode, (error, fd) => (error ? reject(error) : resolve(fd)));
  });
}

function written(fd: number, bytes: Buffer, from: number, count: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const told = (error: Error | null, done: number) => (error ? reject(error) : resolve(done));
    fs.write(fd, bytes, from, count, null, told);
  });
}

function synced(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fs.fdatasync(fd, (error) => (error ? reject(error) : resolve()));
  });
}

function cut(fd: number, bytes: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fs.ftruncate(fd, bytes, (error) => (error ? reject(error) : resolve()));
  });
}
