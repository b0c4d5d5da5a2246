/** The command `interlock-worker`: the same as `interlock worker`. */
import { leave, systemIo } from './io.ts';
import { workerProgram } from './worker-program.ts';

const io = systemIo(import.meta.url);
await leave(io, await workerProgram(process.argv.slice(2), io, 'interlock-worker'));
