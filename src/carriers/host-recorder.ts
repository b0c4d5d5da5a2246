/** The agent's end of a host's flight recorder (`handler/recorder.ts`). */
import { closeSync, constants, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FrameReader, type FromHost } from '../handler/protocol.ts';
import {
  encodeForbidden,
  FORBIDDEN_BYTES,
  RECORDER_BYTES,
  readRecords,
} from '../handler/recorder.ts';

export interface HostRecords {
  /** Number of the last short job that has begun; 0: none. */
  readonly begun: number;
  /** Ends, of which some may have been told already. */
  readonly frames: readonly FromHost[];
}

export interface HostRecorder {
  readonly fd: number;
  /** Frames are not checked yet. `undefined`: it cannot be read, or is being written right now. */
  read(): { readonly begun: number; readonly frames: readonly unknown[] } | undefined;
  /** `Recorder.forbidden`, from now on. `false`: it could not be written. */
  forbid(last: number, kept: number): boolean;
  close(): void;
}

/** @returns `undefined` where none can be made: then short jobs are given like any other. @param name no other host's. */
export function openRecorder(name: string): HostRecorder | undefined {
  // Others cannot take out a file's name while it is open, so there it would stay.
  if (process.platform === 'win32') return undefined;
  for (const folder of process.platform === 'linux' ? ['/dev/shm', tmpdir()] : [tmpdir()]) {
    const fd = nameless(folder, name);
    if (fd === undefined) continue;
    if (roomy(fd)) return recorderOn(fd);
    closeSync(fd);
  }
  return undefined;
}

function nameless(folder: string, name: string): number | undefined {
  try {
    if (process.platform === 'linux')
      return openSync(folder, constants.O_RDWR | constants.O_DIRECTORY | O_TMPFILE, 0o600);
  } catch {
    // A file system that has no such thing.
  }
  try {
    const path = join(folder, `interlock-host-${name.replaceAll(/[^A-Za-z0-9_.-]/g, '-')}`);
    const fd = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    return fd;
  } catch {
    return undefined;
  }
}

/** Takes all its room on the disk, for a name takes none: one that is full shows here, and not when a job begins. */
function roomy(fd: number): boolean {
  try {
    return writeSync(fd, Buffer.alloc(RECORDER_BYTES), 0, RECORDER_BYTES, 0) === RECORDER_BYTES;
  } catch {
    return false;
  }
}

function recorderOn(fd: number): HostRecorder {
  let open = true;
  return {
    fd,
    read: () => {
      if (!open) return undefined;
      try {
        for (let size = FIRST_READ; ; size *= 4) {
          const bytes = upTo(fd, size);
          const { begun, ends, cut } = readRecords(bytes);
          if (cut && size < RECORDER_BYTES) continue;
          // The host may be writing: what is the same twice was not.
          if (!bytes.equals(upTo(fd, size))) return undefined;
          return { begun, frames: new FrameReader<unknown>().push(ends) };
        }
      } catch {
        return undefined; // A handler wrote to it, or it cannot be read.
      }
    },
    forbid: (last, kept) => {
      if (!open) return false;
      try {
        const words = encodeForbidden({ last, kept });
        return writeSync(fd, words, 0, words.length, 0) === words.length;
      } catch {
        return false;
      }
    },
    close: () => {
      if (open) closeSync(fd);
      open = false;
    },
  };
}

/** The records, up to so many bytes. */
function upTo(fd: number, size: number): Buffer {
  const bytes = Buffer.alloc(Math.min(size, RECORDER_BYTES) - FORBIDDEN_BYTES);
  return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, FORBIDDEN_BYTES));
}

/** Of Linux, where `constants` has it not: a file without a name. */
const O_TMPFILE = 0o20000000;
/** Mostly there is far less. */
const FIRST_READ = 4_096;
