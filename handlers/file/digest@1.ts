/**
 * file/digest@1: one digest of every regular file under a folder.
 *
 *   input   { "folder": "/srv/data" }     an absolute path; a link there is followed, links below it are not
 *   result  { "files": 3, "bytes": 4711, "sha256": "9f86d0…" }
 *   errors  INPUT_INVALID      the input looks otherwise
 *           FOLDER_UNREADABLE  a folder cannot be listed; the message names it
 *           FILE_UNREADABLE    a file cannot be read, or has gone meanwhile; the message names it
 *
 * `sha256` is that of the lines `<sha256 of the file>  <path below the folder>`, sorted by the bytes of the path, as
 * coreutils print them:
 *
 *   cd /srv/data && find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0r sha256sum -- | sha256sum
 *
 * Files are streamed. Progress tells the share of the files. With it goes a checkpoint, several times a second: the
 * next attempt goes on behind the last file of it and opens none of those before. What changes while it runs may or
 * may not be seen. It ends within a read when it is told to stop.
 *
 * Pure: it only reads.
 */
import { createHash } from 'node:crypto';
import { constants, type Dirent } from 'node:fs';
import { open, readdir, realpath } from 'node:fs/promises';
import type { HandlerContext } from 'interlock-node-sdk/handler';
import { ResumableSha256, type Sha256State } from './resumable-sha256.ts';

export const effectSafety = 'pure';

export const input = {
  type: 'object',
  properties: { folder: { type: 'string', pattern: '^(/|[A-Za-z]:[\\\\/])' } },
  required: ['folder'],
};

interface Checkpoint {
  /** Of the lines so far. */
  readonly hash: Sha256State;
  /** The last file that is in it: the bytes of its path, base64. */
  readonly last: string;
  readonly files: number;
  readonly bytes: number;
}

/** Files that are read at the same time: keeps the disk busy, and memory small. */
const AT_ONCE = 8;
const CHUNK_BYTES = 262_144;
/** Progress and checkpoint are told after so many files or so much time, whichever is first. */
const TELL_FILES = 200;
const TELL_MS = 250;
/** Paths are bytes: a name need not be text. */
const SLASH = Buffer.from('/');

export default async function digest(
  { folder }: { folder: string },
  { signal, progress, checkpoint, log }: HandlerContext,
): Promise<{ files: number; bytes: number; sha256: string }> {
  const root = Buffer.from(
    await realpath(folder).catch((error: Error) => {
      throw failure('FOLDER_UNREADABLE', `The folder ${folder} cannot be read: ${error.message}`);
    }),
  );
  const from = checkpoint as Checkpoint | undefined;
  const last = from ? Buffer.from(from.last, 'base64') : undefined;
  const hash = new ResumableSha256(from?.hash);
  let files = from?.files ?? 0;
  let bytes = from?.bytes ?? 0;
  if (from) log(`goes on behind ${files} files of an earlier attempt`);

  let total = 0;
  for await (const _path of filesUnder(root, signal)) total++;

  let toldAt = Date.now();
  let toldFiles = files;
  for await (const paths of inGroups(filesUnder(root, signal, last), AT_ONCE)) {
    const digests = await Promise.all(paths.map((path) => digestOf(root, path, signal)));
    for (const [i, path] of paths.entries()) {
      const { sha256, size } = digests[i] as { sha256: string; size: number };
      hash.update(line(sha256, path));
      files++;
      bytes += size;
    }
    if (files - toldFiles < TELL_FILES && Date.now() - toldAt < TELL_MS) continue;
    toldAt = Date.now();
    toldFiles = files;
    const end = paths.at(-1) as Buffer;
    progress((100 * files) / Math.max(files, total), `${files} of ${total} files, ${bytes} bytes`, {
      hash: hash.state,
      last: end.toString('base64'),
      files,
      bytes,
    } satisfies Checkpoint);
  }
  return { files, bytes, sha256: hash.hex() };
}

/**
 * Regular files below the folder in the order of the bytes of their paths, only those behind `after`. A folder is
 * sorted as its name with a slash, which makes the order of a walk that of the whole paths.
 */
async function* filesUnder(
  root: Buffer,
  signal: AbortSignal,
  after?: Buffer,
  below: Buffer = Buffer.alloc(0),
): AsyncGenerator<Buffer> {
  signal.throwIfAborted();
  const entries = await list(root, below);
  const paths = entries
    .filter((entry) => entry.isDirectory() || entry.isFile())
    .map((entry) => ({
      folder: entry.isDirectory(),
      path: Buffer.concat([below, entry.name, ...(entry.isDirectory() ? [SLASH] : [])]),
    }))
    .sort((a, b) => Buffer.compare(a.path, b.path));
  for (const { folder, path } of paths) {
    if (after !== undefined && Buffer.compare(path, after) <= 0) {
      // Behind us, all of it: unless it is the folder in which the last file was.
      if (!folder || Buffer.compare(path, after.subarray(0, path.length)) !== 0) continue;
    }
    if (folder) yield* filesUnder(root, signal, after, path);
    else yield path;
  }
}

async function list(root: Buffer, below: Buffer): Promise<Dirent<Buffer>[]> {
  try {
    return await readdir(Buffer.concat([root, SLASH, below]), {
      encoding: 'buffer',
      withFileTypes: true,
    });
  } catch (error) {
    throw failure(
      'FOLDER_UNREADABLE',
      `The folder ${root}/${below} cannot be listed: ${(error as Error).message}`,
    );
  }
}

async function* inGroups<Item>(items: AsyncIterable<Item>, size: number): AsyncGenerator<Item[]> {
  let group: Item[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

async function digestOf(
  root: Buffer,
  path: Buffer,
  signal: AbortSignal,
): Promise<{ sha256: string; size: number }> {
  signal.throwIfAborted();
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let size = 0;
  try {
    // What was a file when it was listed may be a link or a pipe by now: neither is followed or waited for.
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    const handle = await open(Buffer.concat([root, SLASH, path]), flags);
    try {
      for (;;) {
        const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES);
        if (bytesRead === 0) break;
        hash.update(buffer.subarray(0, bytesRead));
        size += bytesRead;
        signal.throwIfAborted();
      }
    } finally {
      await handle.close();
    }
  } catch (error) {
    signal.throwIfAborted();
    throw failure(
      'FILE_UNREADABLE',
      `The file ${path} under ${root} cannot be read: ${(error as Error).message}`,
    );
  }
  return { sha256: hash.digest('hex'), size };
}

/** A line of sha256sum: a name with a backslash or a line break is written with escapes, and the line says so. */
function line(sha256: string, path: Buffer): Buffer {
  if (!path.some((byte) => byte === 0x5c || byte === 0x0a || byte === 0x0d)) {
    return Buffer.concat([Buffer.from(`${sha256}  `), path, Buffer.from('\n')]);
  }
  const escaped = path
    .toString('latin1')
    .replace(/[\\\n\r]/g, (c) => ({ '\\': '\\\\', '\n': '\\n', '\r': '\\r' })[c] ?? c);
  return Buffer.concat([
    Buffer.from(`\\${sha256}  `),
    Buffer.from(escaped, 'latin1'),
    Buffer.from('\n'),
  ]);
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
