import { createHash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { getAsset, getAssetKeys } from 'node:sea';
import { TaskError } from '../contract/index.ts';
import { VERSION } from '../contract/version.ts';
import { makeFolder } from '../system/make-folder.ts';
import { homeFolder, stateFolder } from '../system/state-folder.ts';

/**
 * The handlers that come with us, out of the executable into the state folder of this user: a host loads files. Written
 * where they are not there yet, or were changed; several may do so at once. Throws `HANDLERS_NOT_WRITTEN`.
 */
export function writtenHandlers(): string {
  const files = getAssetKeys()
    .filter((key) => key.startsWith(PREFIX))
    .map((key) => ({ path: key.slice(PREFIX.length), text: getAsset(key, 'utf8') }));
  const { env } = process;
  const state = stateFolder({ platform: process.platform, env, home: homeFolder(env) });
  return writeHandlers(files, state);
}

export interface HandlerFile {
  readonly path: string;
  readonly text: string;
}

/** @param state where programs of this user keep things; `undefined` where none can be named. */
export function writeHandlers(files: readonly HandlerFile[], state: string | undefined): string {
  if (state === undefined) throw notWritten('this user has no home folder');
  // Another build has another folder: what runs keeps its own.
  const hash = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 8);
  const folder = join(state, 'handlers', `${VERSION}-${hash}`);
  try {
    for (const { path, text } of files) {
      const file = join(folder, path);
      if (read(file) === text) continue;
      makeFolder(dirname(file));
      const fresh = `${file}.${process.pid}.new`;
      try {
        writeFileSync(fresh, text, { mode: 0o600, flush: true });
        renameSync(fresh, file);
      } catch (error) {
        rmSync(fresh, { force: true });
        throw error;
      }
    }
    return folder;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw notWritten(`${folder} cannot be written (${code ?? message})`, error);
  }
}

function notWritten(why: string, cause?: unknown): TaskError {
  return new TaskError(
    'HANDLERS_NOT_WRITTEN',
    `The handlers that come with this program are not on the disk yet, and ${why}.`,
    {
      hint: 'Give a folder of handlers with --handlers, or set XDG_STATE_HOME to a folder that can be written.',
      ...(cause !== undefined && { cause }),
    },
  );
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

const PREFIX = 'handlers/';
