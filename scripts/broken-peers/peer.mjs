/** Our programs with a fault planted in them. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { bundleOptions, entries } from '../bundle.mjs';
import { patched } from '../mutations/patched.mjs';
import { patchesOf } from './index.mjs';

const made = new Set();
process.on('exit', () => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

/**
 * @param {string} name of its folder, with this process's id, so that two runs never meet. Removed when this process ends.
 * @param fault none: our programs as they are.
 * @returns {Promise<string>} a folder as `dist/`: `interlock.js`, `interlock-worker.js`, `host.js`.
 */
export async function peer(root, name, fault) {
  const folder = join(root, 'node_modules/.cache/interlock-broken-peers', `${name}-${process.pid}`);
  made.add(folder);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const patches = fault ? patchesOf(fault) : [];
  const applied = new Set();
  const { interlock, host } = entries;
  await build({
    ...bundleOptions(root),
    entryPoints: { interlock, 'interlock-worker': entries['interlock-worker'], host },
    outdir: folder,
    logLevel: 'error',
    plugins: fault && [
      {
        name: 'fault',
        setup({ onLoad }) {
          onLoad({ filter: /\.ts$/ }, ({ path }) => {
            const own = patches.filter(({ file }) => path === join(root, file));
            if (own.length === 0) return undefined;
            for (const patch of own) applied.add(patch);
            const text = readFileSync(path, 'utf8');
            return { contents: own.reduce((now, one) => patched(one, now), text), loader: 'ts' };
          });
        },
      },
    ],
  });
  const unused = patches.find((patch) => !applied.has(patch));
  if (unused) throw new Error(`"${fault.name}": no program is made of ${unused.file}.`);
  return folder;
}
