import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { TaskError } from '../../contract/index.ts';
import { factsIn, MARK, type ServiceFacts } from './description.ts';
import type { ServicePapers } from './papers.ts';

/** The file of a service as it lies on this machine. */
export interface Written {
  readonly text: string;
  readonly facts: ServiceFacts;
}

type Where = Pick<ServicePapers, 'file' | 'wide'>;

/** `undefined` where there is none. Throws `SERVICE_FOREIGN` for one that is not ours. */
export function readWritten({ file, wide }: Where, root: string): Written | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(join(root, file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new TaskError('SERVICE_FOREIGN', `${file} cannot be read (${code}).`, {
      hint: 'Look at it as the user who has written it.',
      cause: error,
    });
  }
  const text = bytes.toString(wide ? 'utf16le' : 'utf8').replace(/^\uFEFF/, '');
  const facts = factsIn(text);
  if (facts !== undefined) return { text, facts };
  throw new TaskError(
    'SERVICE_FOREIGN',
    text.includes(MARK)
      ? `${file} was changed by hand: the line that says where its spool lies is gone.`
      : `${file} is there already, and was not written by this program.`,
    { hint: 'Move it away, or give this service another --name.' },
  );
}

/** Beside and renamed, so that no manager ever reads half of it. */
export function writeService({ file, wide }: Where, root: string, text: string): void {
  const bytes = wide ? Buffer.from(`\uFEFF${text}`, 'utf16le') : Buffer.from(text);
  put(join(root, file), bytes, 0o644, 0o755);
}

/**
 * A copy of a key, for its owner alone. Whether it is another one than was there. Throws `SERVICE_FOREIGN` where a file
 * lies there with another key that nobody has copied (`ours`).
 */
export function writeKey(file: string, root: string, key: string, ours: boolean): boolean {
  const bytes = Buffer.from(`${key}\n`);
  const before = readOrNothing(join(root, file));
  if (before?.equals(bytes)) return false;
  if (before !== undefined && !ours)
    throw new TaskError(
      'SERVICE_FOREIGN',
      `${file}, where the key would be copied to, holds another one already, which this service has not put there.`,
      { hint: 'Move it away, or name it with --key-file instead of --copy-key.' },
    );
  put(join(root, file), bytes, 0o600, 0o755);
  return true;
}

function readOrNothing(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

export function removeFile(file: string, root: string): void {
  rmSync(join(root, file), { force: true });
}

function put(file: string, bytes: Buffer, mode: number, folderMode: number): void {
  const beside = `${file}.${process.pid}.new`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: folderMode });
    // Made anew: what lies there already is not written to, nor followed.
    rmSync(beside, { force: true });
    const fd = openSync(beside, 'wx', mode);
    try {
      writeSync(fd, bytes);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    // Whatever the mask of this shell is.
    chmodSync(beside, mode);
    renameSync(beside, file);
  } catch (error) {
    rmSync(beside, { force: true });
    const { code } = error as NodeJS.ErrnoException;
    throw new TaskError('FILE_NOT_WRITTEN', `${file} could not be written (${code}).`, {
      hint: 'Check its folder: who owns it, whether it is mounted read-only, whether the disk is full.',
      cause: error,
    });
  }
}
