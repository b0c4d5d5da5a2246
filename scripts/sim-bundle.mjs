import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const made = new Set();
process.on('exit', () => {
  for (const file of made) rmSync(file, { force: true });
});

/**
 * Bundles `sim/run.ts`, so that many processes start fast.
 * @param {string} name of the file; with this process's id, so that two runs never meet. Removed when this process ends.
 * @param {import('esbuild').BuildOptions} more plugins, source map.
 * @returns {Promise<string>} its path.
 */
export async function bundleSimulator(root, name, more = {}) {
  const folder = join(root, 'node_modules/.cache/interlock-sim');
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, `${name}-${process.pid}.mjs`);
  made.add(outfile);
  await build({
    entryPoints: [join(root, 'sim/run.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    loader: { '.sql': 'text', '.md': 'text', '.client.js': 'text' },
    logLevel: 'error',
    outfile,
    ...more,
  });
  return outfile;
}
