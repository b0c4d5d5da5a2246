/** The command `interlock`. Imports come late, so that their compiled code is kept. */
import { keepCompiledCode } from '../system/compile-cache.ts';

keepCompiledCode(process.env);
const { run } = await import('./run.ts');
const { programsBeside } = await import('./programs.ts');
await run('interlock', programsBeside(import.meta.url), process.argv.slice(2));
