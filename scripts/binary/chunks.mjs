/**
 * Our code as the executable carries it: the chunks of `dist/`, each a CommonJS module and an asset of its own, so that an
 * agent, a host or a command reads, compiles and keeps only what it needs.
 */
import { join, relative } from 'node:path';
import * as esbuild from 'esbuild';
import { bundleOptions, handlerOptions } from '../bundle.mjs';

const entries = {
  standalone: 'src/cli/standalone.ts',
  host: 'src/handler/host.ts',
  // What a handler's own child processes are, and what handlers import from us.
  'as-node': 'src/cli/as-node.ts',
  sdk: 'src/index.ts',
  'sdk-agent': 'src/sdk/agent-thread.ts',
  handler: 'src/handler/index.ts',
};

/** @returns {Promise<{ chunks: Map<string, string>, metafile: import('esbuild').Metafile }>} name of the asset → source */
export async function makeChunks(root) {
  const out = join(root, 'build/chunks');
  const { outputFiles, metafile } = await esbuild.build({
    ...bundleOptions(root),
    entryPoints: entries,
    outdir: out,
    write: false,
    metafile: true,
    // Node gives every CommonJS module its place and its `require`.
    banner: {},
    define: {},
    logLevel: 'warning',
  });
  const chunks = new Map();
  for (const { path, text } of outputFiles) {
    const { code } = await esbuild.transform(text, {
      format: 'cjs',
      platform: 'node',
      target: 'node24',
      // import() of a chunk becomes require(), which is still late.
      supported: { 'dynamic-import': false },
      define: { 'import.meta.url': '__importMetaUrl' },
      minifyWhitespace: true,
      lineLimit: 160,
      logLevel: 'warning',
    });
    const url = "const __importMetaUrl=require('node:url').pathToFileURL(__filename).href;\n";
    const id = relative(out, path).replaceAll('\\', '/');
    chunks.set(id, code.includes('__importMetaUrl') ? url + code : code);
  }
  for (const [id, code] of await makeHandlers(root)) chunks.set(id, code);
  return { chunks, metafile };
}

/**
 * The handlers that come with us, as JavaScript, each with the modules beside it that it needs.
 *
 * @returns {Promise<Map<string, string>>} name of the asset (`handlers/demo/hello@1.mjs`) → source
 */
async function makeHandlers(root) {
  const { outputFiles } = await esbuild.build({ ...handlerOptions(root), write: false });
  const folder = handlerOptions(root).outdir;
  return new Map(
    outputFiles
      .map(({ path, text }) => [`handlers/${relative(folder, path).replaceAll('\\', '/')}`, text])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}
