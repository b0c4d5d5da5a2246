import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Who will read it: a user by number with its groups, or one that owns nothing yet. */
export type Reader = { readonly uid: number; readonly gids: readonly number[] } | 'nobody';

/**
 * Why a file or folder cannot be read by that user, as the end of a sentence; `undefined` where it can, as far as modes
 * tell (access lists and security modules can forbid or allow more).
 * @param root before every path.
 */
export function unreachable(path: string, reader: Reader, root = ''): string | undefined {
  const above: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    above.unshift(at);
    if (dirname(at) === at) break;
  }
  for (const at of above) {
    let seen: Stats;
    try {
      seen = statSync(join(root, at));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      return code === 'ENOENT' ? 'is not there' : `cannot be looked at (${code})`;
    }
    const last = at === path;
    const wanted = seen.isDirectory() ? (last ? 5 : 1) : 4;
    if ((bitsFor(seen, reader) & wanted) !== wanted) {
      const mode = (seen.mode & 0o777).toString(8).padStart(4, '0');
      return last ? `has mode ${mode}` : `lies in ${at}, which has mode ${mode}`;
    }
  }
  return undefined;
}

function bitsFor({ mode, uid, gid }: Stats, reader: Reader): number {
  if (reader === 'nobody') return mode & 7;
  if (reader.uid === 0) return 7;
  if (reader.uid === uid) return (mode >> 6) & 7;
  return reader.gids.includes(gid) ? (mode >> 3) & 7 : mode & 7;
}

/** Whether this process may execute it. */
export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
