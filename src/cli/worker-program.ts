import { parseArgs } from 'node:util';
import { config } from 'zod';
import { VERSION } from '../contract/version.ts';
import type { Io } from './command.ts';
import { workerCommand } from './commands/worker.ts';
import { guarded, runCommand, type Typed } from './main.ts';
import { flagsOf } from './options.ts';
import { exitForManager } from './service/manager.ts';

/** `interlock worker <argv>`, to its exit code. Never rejects. */
export async function workerProgram(
  argv: readonly string[],
  io: Io,
  program = 'interlock',
): Promise<number> {
  // What comes by the thousand is checked by hand: a function that zod compiles for a schema costs a worker more than it saves.
  config({ jitless: true });
  const code = await guarded(argv, io, async () => {
    if (argv[0] === '--version' || argv[0] === '-v') {
      await io.out.line(VERSION);
      return 'ok';
    }
    const typed = plainArgs(argv);
    if (typed) return runCommand(workerCommand, typed, io);
    // Help, or a mistake that wants good words: only then is yargs loaded.
    const { readCommand } = await import('./parse.ts');
    const parsed = await readCommand(workerCommand, argv, io.columns, program);
    if (parsed.kind === 'command') return runCommand(workerCommand, parsed.typed, io);
    await io.out.write(parsed.text);
    return 'ok';
  });
  return exitForManager(code, io.env);
}

/** The arguments where they are plain: known flags, each with its value; else `undefined`. */
function plainArgs(argv: readonly string[]): Typed | undefined {
  const flags = flagsOf(workerCommand);
  const options = Object.fromEntries(
    flags.map(({ name, form }) => [
      name,
      { type: form === 'switch' ? ('boolean' as const) : ('string' as const), multiple: true },
    ]),
  );
  let values: Record<string, (string | boolean)[] | undefined>;
  try {
    values = parseArgs({ args: [...argv], options, strict: true, allowPositionals: false })
      .values as typeof values;
  } catch {
    return undefined;
  }
  const typed: Record<string, string | string[] | boolean> = {};
  for (const { name, form } of flags) {
    const given = values[name];
    if (given === undefined) continue;
    if (form === 'list') typed[name] = given.map(String);
    else if (given.length > 1) return undefined;
    else typed[name] = given[0] as string | boolean;
  }
  return typed;
}
