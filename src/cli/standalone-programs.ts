import { statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { HostCommand } from '../carriers/spawn-host.ts';
import type { Programs } from './programs.ts';
import { writtenHandlers } from './written-handlers.ts';

/**
 * All in one executable: it starts itself again, and the environment or the first word say as what.
 *
 * @param typed what a person has typed for it, as the shell had it.
 */
export function standalonePrograms(typed: string, execPath = process.execPath): Programs {
  const own = identity(RUNNING) ?? identity(execPath);
  const start = (args: readonly string[]): HostCommand => ({
    get execPath() {
      return sameCode(execPath, own);
    },
    args,
  });
  return {
    host: start([]),
    program: (name) => start([name]),
    command: execPath,
    typed: typedName(typed, execPath),
    handlers: writtenHandlers,
    standalone: true,
  };
}

/** Linux: leads to the code of whoever asks, also where its file was replaced or removed. */
const RUNNING = '/proc/self/exe';

/**
 * An agent speaks to hosts of its own version only. Where another file has been put in the place of the executable (an
 * update, while we run), what runs already is started from where the kernel holds it.
 */
function sameCode(execPath: string, own: string | undefined): string {
  if (own === undefined || identity(execPath) === own) return execPath;
  return identity(RUNNING) === own ? RUNNING : execPath;
}

function identity(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

/** The name as it was typed, if it leads here from a shell; else the path of the executable. */
function typedName(typed: string, execPath: string): string {
  const here = identity(execPath);
  if (/[\\/]/.test(typed)) return identity(typed) === here ? typed : execPath;
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const found = identity(join(folder === '' ? '.' : folder, typed));
    if (found !== undefined) return found === here ? typed : execPath;
  }
  return execPath;
}
