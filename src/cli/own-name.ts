import { existsSync, realpathSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import type { Io } from './command.ts';

/** How `interlock` can be typed here, so that what we print can be copied. */

/** `interlock` where the PATH leads to this program, else `./bin/interlock` or the whole path of it, quoted for a shell. */
export function ownName({ env, cwd, programs }: Pick<Io, 'env' | 'cwd' | 'programs'>): string {
  // An executable knows how it was typed, and takes every command under each of its names.
  if (programs.typed !== undefined) return shellWord(programs.typed);
  const own = real(programs.command);
  if (own === undefined || process.platform === 'win32') return NAME;
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    const found = folder === '' ? undefined : join(folder, NAME);
    if (found === undefined || !existsSync(found)) continue;
    if (real(found) !== own) break;
    // npm puts this folder there for its own children only.
    return /node_modules[\\/]\.bin[\\/]?$/.test(folder) ? `npx ${NAME}` : NAME;
  }
  const below = relative(cwd, own);
  return shellWord(below.startsWith('..') ? own : `./${below}`);
}

/** Quoted where a shell would read it as something else than one word. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A text for people with our commands in it, as they can be typed here. */
export function asTyped(text: string, io: Pick<Io, 'env' | 'cwd' | 'programs'>): string {
  return typedHere(io)(text);
}

/** `asTyped` for many texts: the disk is asked for the name once, when the first text has a command. */
export function typedHere(io: Pick<Io, 'env' | 'cwd' | 'programs'>): (text: string) => string {
  let name: string | undefined;
  return (text) => {
    if (!COMMANDS.test(text)) return text;
    name ??= ownName(io);
    const known = name;
    return text.replace(new RegExp(COMMANDS, 'g'), () => known);
  };
}

const NAME = 'interlock';
const COMMANDS =
  /(?<![\w./-])interlock(?= (?:tasks|spool|keys|worker|config|dev|control-plane|conformance)\b)/;

function real(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
