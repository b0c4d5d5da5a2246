import type { Io } from './command.ts';
import type { ProgramName } from './programs.ts';

/**
 * Runs what a command line asks of us, to its exit code. Never rejects. `interlock-worker` alone, or with flags, is the
 * worker; with a word behind it (`interlock-worker status`) it is that command of `interlock worker`, else that of
 * `interlock`: whoever has copied one file under one name has all of it.
 */
export async function start(name: ProgramName, argv: readonly string[], io: Io): Promise<number> {
  const [first, second] = argv;
  const alone = name === 'interlock-worker' && !isWord(first);
  if (alone || (first === 'worker' && !isWord(second))) {
    if (process.pid === 1) (await import('./first-process.ts')).standBehindShell(name, argv, io);
    // Not through the list of all commands: a worker has to start fast.
    const { workerProgram } = await import('./worker-program.ts');
    return alone ? workerProgram(argv, io, name) : workerProgram(argv.slice(1), io);
  }
  const { commands, interlockProgram } = await import('./interlock-main.ts');
  const ofWorker =
    name === 'interlock-worker' && commands.some(({ path }) => isBelow(path, `worker ${first}`));
  return interlockProgram(ofWorker ? ['worker', ...argv] : argv, io);
}

function isWord(arg: string | undefined): boolean {
  return arg !== undefined && arg !== '' && !arg.startsWith('-');
}

function isBelow(path: string, start: string): boolean {
  return path === start || path.startsWith(`${start} `);
}
