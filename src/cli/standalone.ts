/** The standalone executable, after its boot: both commands, told apart by its name or by the first word. */
import { basename } from 'node:path';
import { keepCompiledCode } from '../system/compile-cache.ts';
import type { ProgramName } from './programs.ts';
import { standalonePrograms } from './standalone-programs.ts';

/** @param typed argv[0] as the shell had it. @param argv what follows. */
export async function runStandalone(typed: string, argv: readonly string[]): Promise<void> {
  const { name, rest } = programOf(typed, argv);
  keepCompiledCode(process.env);
  const { run } = await import('./run.ts');
  await run(name, standalonePrograms(typed), rest);
}

/**
 * A first word that is the name of a program comes before the name of the file. Under any other name than
 * `interlock-worker…` (as the files to download are named) the executable is `interlock`.
 */
function programOf(
  typed: string,
  argv: readonly string[],
): { readonly name: ProgramName; readonly rest: readonly string[] } {
  const [first] = argv;
  if (first === 'interlock' || first === 'interlock-worker')
    return { name: first, rest: argv.slice(1) };
  const worker = basename(typed).toLowerCase().startsWith('interlock-worker');
  return { name: worker ? 'interlock-worker' : 'interlock', rest: argv };
}
