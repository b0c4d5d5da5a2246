import {
  closeSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { parseJson, TaskError } from '../contract/index.ts';
import { whileBusy } from '../system/while-busy.ts';

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

/**
 * Writes a file that only its owner may read: 0600 in a 0700 folder, beside and renamed, so that nobody sees half of it and
 * the old one stays where that is refused. Rejects with the system's error, by the name of the file. @param platform for tests
 */
export async function writePrivate(
  file: string,
  text: string,
  platform: NodeJS.Platform = process.platform,
): Promise<void> {
  const folder = dirname(file);
  const beside = `${file}.${process.pid}.new`;
  try {
    makePrivateFolder(folder);
    const fd = openSync(beside, 'w', 0o600);
    try {
      // It may have been left by an earlier process of this number.
      fchmodSync(fd, 0o600);
      writeFileSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    await whileBusy(platform, async () => renameSync(beside, file));
  } catch (cause) {
    const error = cause as NodeJS.ErrnoException;
    if (error.path === beside) error.path = file;
    // It holds keys.
    rmSync(beside, { force: true });
    throw error;
  }
}

/** 0700 where it has to be made. Throws the system's reason: Node's own `recursive` says ENOENT for a read-only disk. */
export function makePrivateFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return;
    if (code !== 'ENOENT' || dirname(folder) === folder) throw cause;
    makePrivateFolder(dirname(folder));
    mkdirSync(folder, { mode: 0o700 });
  }
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
