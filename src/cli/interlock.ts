/** The command `interlock`. Imports come late, so that their compiled code is kept. */
import { keepCompiledCode } from './compile-cache.ts';

keepCompiledCode();
const { endOnBugs, leave, systemIo } = await import('./io.ts');
const io = systemIo(import.meta.url);
endOnBugs(io);
const [first, ...rest] = process.argv.slice(2);
const code =
  first === 'worker'
    ? // Not through the list of all commands: a worker has to start fast.
      await (await import('./worker-program.ts')).workerProgram(rest, io)
    : await (await import('./program.ts')).interlockProgram(process.argv.slice(2), io);
await leave(io, code);
