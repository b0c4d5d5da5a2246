import { existsSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import type { Io } from './command.ts';

/** How `interlock` can be typed here, so that what we print can be copied. */

/** `interlock` where the PATH leads to this program, else `./bin/interlock` or the whole path of it, quoted for a shell. */
export function ownName({ env, cwd, programs }: Pick<Io, 'env' | 'cwd' | 'programs'>): string {
  const own = real(join(dirname(programs), 'bin', NAME));
  if (own === undefined || process.platform === 'win32') return NAME;
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    const found = folder === '' ? undefined : join(folder, NAME);
    if (found === undefined || !existsSync(found)) continue;
    if (real(found) !== own) break;
    // npm puts this folder there for its own children only.
    return /node_modules[\\/]\.bin[\\/]?$/.test(folder) ? `npx ${NAME}` : NAME;
  }
  const below = relative(cwd, own);
  const path = below.startsWith('..') ? own : `./${below}`;
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

/** A text for people with our commands in it, as they can be typed here. */
export function asTyped(text: string, io: Pick<Io, 'env' | 'cwd' | 'programs'>): string {
  if (!COMMANDS.test(text)) return text;
  const name = ownName(io);
  return text.replace(new RegExp(COMMANDS, 'g'), () => name);
}

const NAME = 'interlock';
const COMMANDS = /(?<![\w./-])interlock(?= (?:tasks|keys|worker|dev|control-plane)\b)/;

function real(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
