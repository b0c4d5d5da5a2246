/**
 * `--import` in NODE_OPTIONS: Node loads those modules before a main script of a file, but not in a standalone executable,
 * whose main script is inside. There it is done here.
 */
import Module from 'node:module';
import { join } from 'node:path';

/** The modules that `--import` names among these words. */
export function importsIn(words: readonly string[]): string[] {
  return words.flatMap((word, i) => {
    if (word.startsWith('--import=')) return [word.slice('--import='.length)];
    return word === '--import' && words[i + 1] !== undefined ? [words[i + 1] as string] : [];
  });
}

/** NODE_OPTIONS as words: what stands in double quotes is one. */
export function wordsOf(nodeOptions: string | undefined): string[] {
  const words = nodeOptions?.match(/(?:"(?:\\.|[^"\\])*"|[^\s"])+/g) ?? [];
  return words.map((word) =>
    word.replace(/"((?:\\.|[^"\\])*)"/g, (_, text: string) => text.replace(/\\(.)/g, '$1')),
  );
}

/** One after the other, found from the current folder. Rejects as `import()` does. */
export async function importAll(names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  // From a module made at run time: a plain import() knows only what is built in, in an executable.
  const id = join(process.cwd(), 'interlock-preload.cjs');
  const module = new Module(id) as Module & { _compile(code: string, name: string): unknown };
  module._compile('module.exports = (name) => import(name)', id);
  const load = module.exports as (name: string) => Promise<unknown>;
  for (const name of names) await load(name);
}
