/** The command `interlock-worker`: the same as `interlock worker`. Imports come late, so that their compiled code is kept. */
import { keepCompiledCode } from './compile-cache.ts';

keepCompiledCode();
const { endOnBugs, leave, systemIo } = await import('./io.ts');
const { workerProgram } = await import('./worker-program.ts');
const io = systemIo(import.meta.url);
endOnBugs(io);
await leave(io, await workerProgram(process.argv.slice(2), io, 'interlock-worker'));
