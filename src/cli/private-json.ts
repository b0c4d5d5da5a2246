import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { parseJson, TaskError } from '../contract/index.ts';

/** A JSON object in a file. Throws `CONFIG_INVALID` with what is wrong with it; `undefined` where there is none. */
export function readJsonObject(file: string, what: string): Record<string, unknown> | undefined {
  const refuse = (why: string, hint: string, cause?: unknown): never => {
    throw new TaskError('CONFIG_INVALID', `${what} ${file} ${why}.`, { hint, cause });
  };
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    return refuse(`cannot be read (${code})`, 'Check who owns it and its permissions.', error);
  }
  const parsed = parseJson(text.replace(/^\uFEFF/, ''));
  if (!parsed.ok) {
    const [issue] = parsed.issues;
    return refuse(
      `${issue?.path ? `: ${issue.path} ` : ''}${issue?.message}`,
      'Correct it, or remove it.',
    );
  }
  if (typeof parsed.value !== 'object' || parsed.value === null || Array.isArray(parsed.value))
    return refuse('holds no JSON object', 'Correct it, or remove it.');
  return parsed.value as Record<string, unknown>;
}

/** Writes a file that only its owner may read: 0600 in a 0700 folder, beside and renamed, so that nobody sees half of it. */
export function writePrivate(file: string, text: string): void {
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const beside = `${file}.${process.pid}.new`;
  const fd = openSync(beside, 'w', 0o600);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  chmodSync(beside, 0o600);
  renameSync(beside, file);
}

/** Who may see a file: `mine` if only this user, `shared` if others can read it, `foreign` if it is somebody else's. */
export function privacy(file: string): 'mine' | 'shared' | 'foreign' {
  // Windows keeps a user's folders apart by other means.
  if (process.platform === 'win32') return 'mine';
  const seen = statSync(file);
  const self = process.getuid?.();
  if (self !== undefined && seen.uid !== self && seen.uid !== 0) return 'foreign';
  return (seen.mode & 0o077) === 0 ? 'mine' : 'shared';
}
