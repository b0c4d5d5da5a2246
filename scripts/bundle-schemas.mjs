/**
 * The contract is data: what a program does not use of it may fall away from its bundle. esbuild cannot know that of a
 * schema, which is made by calls; a call that is marked as pure goes when nobody wants its result. A worker meets a dozen of the
 * contract's schemas, and each one more costs its start and, for good, memory.
 */
import { readFile } from 'node:fs/promises';

/** A `const` of a module that calls something: its further lines are indented, or begin with what closes it. */
const MADE =
  /^((?:export )?const \w+(?:: [^=\n]+)? =\s+)((?:[A-Za-z]\w*\s*[.(]|\{(?=[^;]*\bz\.))(?:.|\n(?=[ )\]}]))*?);$(?!\n[ )\]}])/gm;

/** For esbuild. */
export const unusedSchemasFallAway = {
  name: 'unused-schemas-fall-away',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]src[\\/]contract[\\/][^.]+\.ts$/ }, async ({ path }) => ({
      contents: marked(await readFile(path, 'utf8')),
      loader: 'ts',
    }));
  },
};

export function marked(source) {
  const text = source.replace(MADE, '$1/* @__PURE__ */ __made(() => ($2));');
  // A function of its own: esbuild puts what a function in brackets gives in its place, and then it is not marked any more.
  return text === source ? text : `${text}\nfunction __made(make) { return make(); }\n`;
}
