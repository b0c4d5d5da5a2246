import { brotliCompressSync } from 'node:zlib';
import { makeLicences } from './beside.mjs';
import { makeCodeCaches } from './code-cache.mjs';

/** The assets of one executable: our code, the licences, and for the runtime that runs here too what it has compiled. */
export async function makeAssets(root, code, generator, { base, work } = {}) {
  // Only its own Node.js: a file does not depend on which others are built with it.
  const licences = brotliCompressSync(await makeLicences(root, code.metafile, [generator]));
  const same = base !== undefined && base.file === generator.file;
  const caches = same ? await makeCodeCaches(code, generator.file, work) : [];
  return new Map([...code.assets, ['LICENSES.txt.br', licences], ...caches]);
}
