import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { updateError } from './codes.ts';
import { releaseBytes, SIGNATURE, STATEMENT, SUMS } from './release.ts';

/** Where a release lies: a folder on disk, or one behind an address. */
export interface ReleaseSource {
  /** As people name it; never with a password. */
  readonly shown: string;
  /** The file that was named, where it was not the folder. */
  readonly file: string | undefined;
  /** A whole small file. `undefined` where there is none. Throws for what cannot be read, or is longer. */
  read(name: SmallFile): Promise<Uint8Array | undefined>;
  /** An executable, piece by piece; at most a piece more than `bytes`. */
  pieces(name: string, bytes: number): AsyncIterable<Uint8Array>;
}

export type SmallFile = typeof SUMS | typeof SIGNATURE | typeof STATEMENT;

/** A folder, or a file in it. Throws `FILE_NOT_FOUND`-like system errors as they are. */
export async function folderSource(path: string, cwd: string): Promise<ReleaseSource> {
  const given = resolve(cwd, path);
  const seen = await stat(given).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT' && cause.code !== 'ENOTDIR') throw cause;
    throw updateError('UPDATE_DAMAGED', `${given} is not there.`, {
      hint: 'Name the folder of a release, or the executable in it: --from ./release.',
      cause,
    });
  });
  const whole = seen.isDirectory();
  const folder = whole ? given : dirname(given);
  const named = whole || isSmall(basename(given)) ? undefined : basename(given);
  return {
    shown: folder,
    file: named,
    read: (name) => readSmall(join(folder, name), releaseBytes[name]),
    pieces: (name, bytes) => piecesOf(join(folder, name), bytes),
  };
}

export function isSmall(name: string): name is SmallFile {
  return name === SUMS || name === SIGNATURE || name === STATEMENT;
}

export function tooLong(shown: string, bytes: number): Error {
  return updateError(
    'UPDATE_DAMAGED',
    `${shown} is longer than ${bytes} bytes: it is no file of a release.`,
  );
}

async function readSmall(file: string, bytesMax: number): Promise<Uint8Array | undefined> {
  const handle = await openFile(file);
  if (!handle) return undefined;
  try {
    const buffer = new Uint8Array(bytesMax + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length);
      if (bytesRead === 0) return buffer.subarray(0, length);
      length += bytesRead;
      if (length > bytesMax) throw tooLong(file, bytesMax);
    }
  } finally {
    await handle.close();
  }
}

async function* piecesOf(file: string, bytes: number): AsyncIterable<Uint8Array> {
  const handle = await openFile(file);
  if (!handle) throw updateError('UPDATE_DAMAGED', `${file} is not there, but ${SUMS} names it.`);
  // A byte more tells a longer file. It closes the handle.
  const stream = handle.createReadStream({ end: bytes, highWaterMark: PIECE_BYTES });
  try {
    yield* stream as AsyncIterable<Buffer>;
  } finally {
    stream.destroy();
  }
}

/** A pipe, which nobody may ever write to, or a device is no file of a release: told at once and never waited for. */
async function openFile(file: string): Promise<FileHandle | undefined> {
  const handle = await open(file, READ_AT_ONCE).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return undefined;
    throw cause;
  });
  if (!handle) return undefined;
  const seen = await handle.stat();
  if (seen.isFile()) return handle;
  await handle.close();
  const kind = seen.isDirectory() ? 'a folder' : 'a pipe or a device';
  throw updateError('UPDATE_DAMAGED', `${file} is ${kind} and no file of a release.`);
}

/** Windows has neither pipes in folders nor this word. */
const READ_AT_ONCE = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
const PIECE_BYTES = 1_048_576;
