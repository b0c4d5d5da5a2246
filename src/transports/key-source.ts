import type { Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { TaskError } from '../contract/index.ts';
import { wireDefaults } from '../core/defaults.ts';
import { codeOf } from '../wire/fault.ts';
import { type KeySource, readKey } from '../wire/key.ts';

export { constantKey, type KeySource } from '../wire/key.ts';

export interface FileKey extends KeySource {
  /** What is wrong with how the file is kept, for people; `undefined` if nothing is. */
  readonly advice: string | undefined;
}

/**
 * A key in a file of its own, one line. `reload` reads the file again and keeps the old key where that
 * fails (it may be in the middle of being replaced). Rejects with `KEY_UNREADABLE` or `KEY_MALFORMED`.
 */
export async function keyFromFile(file: string): Promise<FileKey> {
  let { key, advice } = await readFile(file);
  return {
    current: () => key,
    get advice() {
      return advice;
    },
    reload: async () => {
      try {
        ({ key, advice } = await readFile(file));
        return key;
      } catch {
        return undefined;
      }
    },
  };
}

/**
 * A key that a function tells, such as one of the environment. Throws `KEY_MISSING` or `KEY_MALFORMED`.
 * @param name of the variable, for messages.
 */
export function keyFromVariable(name: string, read: () => string | undefined): KeySource {
  const now = () => {
    const text = read();
    if (text !== undefined && text.trim() !== '') return readKey(text, `The key in ${name}`);
    throw new TaskError('KEY_MISSING', `${name} holds no key.`, {
      hint: `Set ${name}, or write the key into a file and give --key-file.`,
    });
  };
  let key = now();
  return {
    current: () => key,
    reload: async () => {
      try {
        key = now();
        return key;
      } catch {
        return undefined;
      }
    },
  };
}

async function readFile(file: string): Promise<{ key: string; advice: string | undefined }> {
  const refuse = (error: unknown) => {
    throw unreadable(file, error);
  };
  // Looked at before it is opened: opening a pipe waits for a writer, and a device may do anything.
  const kind = kindOf(await stat(file).catch(refuse));
  if (kind !== undefined) throw noFile(file, kind);
  const handle = await open(file, 'r').catch(refuse);
  try {
    const { mode } = await handle.stat();
    const buffer = Buffer.alloc(wireDefaults.keyFileBytes);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    const text = buffer.toString('utf8', 0, bytesRead);
    const [line = ''] = text.trim().split(/\r?\n/);
    return { key: readKey(line, `The key file ${file}`), advice: adviceFor(file, mode) };
  } catch (error) {
    throw error instanceof TaskError ? error : unreadable(file, error);
  } finally {
    await handle.close();
  }
}

function adviceFor(file: string, mode: number): string | undefined {
  // Windows has no such bits; what it reports would be a false alarm.
  if (process.platform === 'win32' || (mode & 0o077) === 0) return undefined;
  const bits = (mode & 0o777).toString(8).padStart(4, '0');
  return `The key file ${file} can be read by other users (mode ${bits}): chmod 600 ${file}`;
}

/** In words where it is not an ordinary file. */
function kindOf(seen: Stats): string | undefined {
  if (seen.isFile()) return undefined;
  if (seen.isDirectory()) return 'a folder';
  if (seen.isFIFO()) return 'a pipe';
  return seen.isSocket() ? 'a socket' : 'a device';
}

function noFile(file: string, kind: string): TaskError {
  return new TaskError('KEY_UNREADABLE', `The key file ${file} is ${kind}, not a file.`, {
    hint: 'Give the path of a file that holds one key, readable for this user (mode 0600): it is read again when the key is refused.',
  });
}

function unreadable(file: string, cause: unknown): TaskError {
  return new TaskError(
    'KEY_UNREADABLE',
    `The key file ${file} cannot be read (${codeOf(cause)}).`,
    {
      hint: 'Give the path of a file that holds one key, readable for this user (mode 0600).',
      cause,
    },
  );
}
