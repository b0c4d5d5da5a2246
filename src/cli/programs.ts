import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HostCommand } from '../carriers/spawn-host.ts';

/**
 * How our programs are started again, and where that lies which comes with them: files of a checkout or of an installed
 * package (`filePrograms`), or all in one executable (`standalonePrograms`).
 */
export interface Programs {
  /** Starts a handler host; its role is in the environment. */
  readonly host: HostCommand;
  /** Starts a program of ours, whose arguments follow. */
  program(name: ProgramName): HostCommand;
  /** What a person types to start us, as a path: `bin/interlock`, or the executable. */
  readonly command: string;
  /** The path or the name that was typed for an executable, where that leads to it: for texts that are copied. */
  readonly typed?: string;
  /** Folder of the handlers that come with us. An executable writes it at the first call. */
  handlers(): string;
  /** Everything is in one file, the one that runs. */
  readonly standalone: boolean;
}

export type ProgramName = 'interlock' | 'interlock-worker';

/** @param entry `import.meta.url` of the program that was started. */
export function programsBeside(entry: string): Programs {
  return filePrograms(dirname(fileURLToPath(entry)));
}

/** @param folder that holds `interlock.js`, `interlock-worker.js` and `host.js`. */
export function filePrograms(folder: string): Programs {
  const start = (file: string, ...flags: string[]): HostCommand => ({
    execPath: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', ...flags, join(folder, file)],
  });
  return {
    host: start('host.js'),
    // As the files in `bin/` do: compiled code is kept for the same flags only.
    program: (name) =>
      name === 'interlock-worker'
        ? start(`${name}.js`, '--no-memory-reducer')
        : start(`${name}.js`),
    command: join(dirname(folder), 'bin', 'interlock'),
    handlers: () => {
      // Outside a checkout as JavaScript: below node_modules Node removes no types.
      const packaged = folder.split(sep).includes('node_modules');
      return join(packaged ? folder : dirname(folder), 'handlers');
    },
    standalone: false,
  };
}
