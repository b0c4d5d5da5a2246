/** How our programs are bundled: `dist/`, and copies of it with a bug planted on purpose. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { builtinsByRequire } from './bundle-builtins.mjs';
import { withoutUnused } from './bundle-parts.mjs';
import { unusedSchemasFallAway } from './bundle-schemas.mjs';

/** What a person or a program starts or imports: name in `dist/` → source. */
export const entries = {
  interlock: 'src/cli/interlock.ts',
  'interlock-worker': 'src/cli/interlock-worker.ts',
  host: 'src/handler/host.ts',
  sdk: 'src/index.ts',
  'sdk-agent': 'src/sdk/agent-thread.ts',
  handler: 'src/handler/index.ts',
};

/** The worker: it and what it loads late, in one file, but for `seldom`. */
const workerMain = { 'worker-main': 'src/cli/worker-main.ts' };
/** Packages that a worker seldom needs, each a file of its own: whoever idles for days does not hold their source. */
const seldom = { yargs: 'late-yargs', 'prom-client': 'late-prom-client' };
/** What the worker does not hold, though it can become it. */
const interlockMain = { 'interlock-main': 'src/cli/interlock-main.ts' };

const commonJs = [
  "import { createRequire as __createRequire } from 'node:module';",
  "import { fileURLToPath as __fileURLToPath } from 'node:url';",
  'const require = __createRequire(import.meta.url);',
  'const __bundleFile = __fileURLToPath(import.meta.url);',
  "const __bundleFolder = __fileURLToPath(new URL('.', import.meta.url));",
].join('\n');

/** For esbuild; whoever asks says where to (`outdir`). */
export function bundleOptions(root) {
  return {
    absWorkingDir: root,
    entryPoints: entries,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    // The SDK runs on the user's Node (20 and newer); the rest on the pinned one.
    target: 'node20',
    // Source text stays in memory for as long as a process lives: smaller files, smaller agents. Identifiers are
    // kept and lines stay short, so that a stack trace still says where. (`keepNames` would cost a call for each closure.)
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 160,
    legalComments: 'none',
    loader: { '.sql': 'text', '.md': 'text', '.client.js': 'text' },
    // Bundled CommonJS packages ask for Node's own modules with `require`, and some for their place.
    banner: { js: commonJs },
    define: { __filename: '__bundleFile', __dirname: '__bundleFolder' },
  };
}

/**
 * How `dist/` is made: programs that are processes of their own share no files. Where a file has to be found, read and linked
 * for each set of programs that shares it, a worker loads sixty of them; made for itself it is two.
 */
export function distBundles(root) {
  const options = { ...bundleOptions(root), plugins: [unusedSchemasFallAway, builtinsByRequire] };
  const { interlock, 'interlock-worker': worker, 'sdk-agent': sdkAgent, host, ...faces } = entries;
  const single = { ...options, splitting: false };
  delete single.chunkNames;
  return [
    { ...options, entryPoints: { interlock, ...interlockMain } },
    // Reads no more than it has to before compiled code can be kept.
    { ...single, entryPoints: { 'interlock-worker': worker }, plugins: [beside(workerMain)] },
    {
      ...single,
      entryPoints: workerMain,
      plugins: [beside(interlockMain), fetchedLate, withoutUnused, ...options.plugins],
    },
    ...Object.entries(seldom).map(([name, file]) => ({ ...single, entryPoints: { [file]: name } })),
    // A thread shares no more with its program than two processes do.
    { ...single, entryPoints: { 'sdk-agent': sdkAgent } },
    // A host reads what it needs itself, in one file; what a handler imports is known by its brands, not by its class.
    { ...options, entryPoints: { host } },
    // One instance of what a handler and the SDK in it have in common.
    { ...options, entryPoints: faces },
  ];
}

/** Late imports of these are left as they are: files of `dist/` that are made apart. */
function beside(apart) {
  const names = Object.keys(apart).join('|');
  return {
    name: 'beside',
    setup({ onResolve }) {
      onResolve({ filter: new RegExp(`^\\./(${names})\\.ts$`) }, ({ path, kind }) =>
        kind === 'dynamic-import'
          ? { path: path.replace(/\.ts$/, '.js'), external: true }
          : undefined,
      );
    },
  };
}

/** Imports of `seldom` become a `require` of its file, when the module that imports it is loaded. */
const fetchedLate = {
  name: 'fetched-late',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: new RegExp(`^(${Object.keys(seldom).join('|')})$`) }, ({ path }) => ({
      path,
      namespace: 'seldom',
    }));
    onLoad({ filter: /.*/, namespace: 'seldom' }, ({ path }) => ({
      // Some export what `require` is to give out, beside what an import gets.
      contents: `const all = require('./${seldom[path]}.js'); module.exports = all.default ?? all;`,
    }));
    onResolve({ filter: /^\.\/late-/, namespace: 'seldom' }, ({ path }) => ({
      path,
      external: true,
    }));
  },
};

/** The handlers that come with us, as JavaScript: Node removes no types below node_modules. */
export function handlerOptions(root) {
  const folder = join(root, 'handlers');
  const files = existsSync(folder) ? readdirSync(folder, { recursive: true }) : [];
  return {
    absWorkingDir: folder,
    entryPoints: files.filter((file) => /@\d+\.ts$/.test(file)).sort(),
    outbase: folder,
    outdir: join(root, 'dist/handlers'),
    outExtension: { '.js': '.mjs' },
    // Each with the modules beside it that it needs; packages are found when it runs.
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node24',
    logLevel: 'warning',
  };
}
