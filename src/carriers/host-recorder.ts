/** The agent's end of a host's flight recorder (`handler/recorder.ts`). */
import { closeSync, constants, fstatSync, openSync, readSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FrameReader, type FromHost } from '../handler/protocol.ts';
import { readRecords } from '../handler/recorder.ts';

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
  close(): void;
}

/** @returns `undefined` where none can be made: then short jobs are given like any other. @param name no other host's. */
export function openRecorder(name: string): HostRecorder | undefined {
  // Others cannot take out a file's name while it is open, so there it would stay.
  if (process.platform === 'win32') return undefined;
  for (const folder of process.platform === 'linux' ? ['/dev/shm', tmpdir()] : [tmpdir()]) {
    const fd = nameless(folder, name);
    if (fd !== undefined) return recorderOn(fd);
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

function recorderOn(fd: number): HostRecorder {
  let open = true;
  return {
    fd,
    read: () => {
      if (!open) return undefined;
      try {
        const bytes = whole(fd);
        // The host may be writing: what is the same twice was not.
        if (!bytes.equals(whole(fd))) return undefined;
        const { begun, ends } = readRecords(bytes);
        return { begun, frames: new FrameReader<unknown>().push(ends) };
      } catch {
        return undefined; // A handler wrote to it, or it cannot be read.
      }
    },
    close: () => {
      if (open) closeSync(fd);
      open = false;
    },
  };
}

function whole(fd: number): Buffer {
  const bytes = Buffer.alloc(Math.min(fstatSync(fd).size, READ_MOST));
  return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0));
}

/** Of Linux, where `constants` has it not: a file without a name. */
const O_TMPFILE = 0o20000000;
/** Ends that wait are far less: `unsentBytes`, and the one after. */
const READ_MOST = 1_048_576;
