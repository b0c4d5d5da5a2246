/** The command `interlock-worker`: the same as `interlock worker`. Imports come late, so that their compiled code is kept. */
import { keepCompiledCode } from './compile-cache.ts';
import { keepHeapSmall } from './small-heap.ts';

keepHeapSmall();
keepCompiledCode();
const { run } = await import('./run.ts');
const { programsBeside } = await import('./programs.ts');
await run('interlock-worker', programsBeside(import.meta.url), process.argv.slice(2));
