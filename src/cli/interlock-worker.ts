/** The command `interlock-worker`: the same as `interlock worker`. Imports come late, so that their compiled code is kept. */
import { keepCompiledCode } from '../system/compile-cache.ts';

keepCompiledCode(process.env);
const { programsBeside, run } = await import('./worker-main.ts');
await run('interlock-worker', programsBeside(import.meta.url), process.argv.slice(2));
