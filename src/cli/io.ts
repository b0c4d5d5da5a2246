import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../system/clock.ts';
import { systemRandom } from '../system/random.ts';
import type { Io } from './command.ts';
import { outputTo } from './output.ts';

/** The world as it is. @param entry `import.meta.url` of the program that was started. */
export function systemIo(entry: string): Io {
  const { stdout, stderr } = process;
  return {
    env: process.env,
    cwd: process.cwd(),
    get stdin() {
      return process.stdin;
    },
    out: outputTo(stdout),
    err: outputTo(stderr),
    terminal: { out: stdout.isTTY === true, err: stderr.isTTY === true },
    columns: stdout.isTTY ? stdout.columns : undefined,
    programs: dirname(fileURLToPath(entry)),
    clock: systemClock(),
    random: systemRandom(),
  };
}

/** Ends the process when all that was written has been taken. Sockets that idle do not keep it. */
export async function leave(io: Io, code: number): Promise<never> {
  await Promise.all([io.out.flush(), io.err.flush()]);
  process.exit(code);
}
