/**
 * Makes `dist/`: one bundle with shared chunks for the commands, the handler host and the SDK, and the
 * SDK's declarations. Runs at install (`prepare`) and before the tests, so it has to stay fast (seconds).
 *
 * `dist/` is built beside and swapped in whole, and only when something changed: a worker that runs from
 * it, or a test next door, never sees half of it.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');
const fresh = join(root, `dist.new-${process.pid}`);

/** What a person or a program starts or imports: name in `dist/` → source. */
const entries = {
  interlock: 'src/cli/interlock.ts',
  'interlock-worker': 'src/cli/interlock-worker.ts',
  host: 'src/handler/host.ts',
  sdk: 'src/index.ts',
  handler: 'src/handler/index.ts',
};

/** Entries that must start fast and small, and the packages that may not be loaded with them. */
const light = {
  host: ['undici', 'zod', 'yargs', 'pino', 'hono', '@hono/node-server', 'eventsource'],
  handler: ['undici', 'zod', 'yargs', 'pino', 'hono', '@hono/node-server', 'eventsource'],
};

const commonJs = [
  "import { createRequire as __createRequire } from 'node:module';",
  "import { fileURLToPath as __fileURLToPath } from 'node:url';",
  'const require = __createRequire(import.meta.url);',
  'const __bundleFile = __fileURLToPath(import.meta.url);',
  "const __bundleFolder = __fileURLToPath(new URL('.', import.meta.url));",
].join('\n');

await build();

async function build() {
  const started = Date.now();
  const esbuild = await import('esbuild').catch(() => undefined);
  if (esbuild === undefined) {
    // A production install (`--omit=dev`) of a checkout: what was built before goes on serving.
    const built = existsSync(join(dist, 'interlock.js'));
    console.error(
      `build: esbuild is not installed, ${built ? 'dist/ stays as it is' : 'so dist/ cannot be made'}. Run "npm ci" without --omit=dev.`,
    );
    process.exitCode = built ? 0 : 1;
    return;
  }
  try {
    await mkdir(fresh, { recursive: true });
    const [metafile] = await Promise.all([bundle(esbuild), handlers(esbuild), declarations()]);
    staysLight(metafile);
    await writeFile(join(fresh, 'THIRD-PARTY-NOTICES.txt'), await notices(metafile));
    const changed = !(await same(fresh, dist));
    if (changed) await swap();
    const names = Object.keys(entries).join(', ');
    console.log(
      `build: ${changed ? 'made' : 'nothing changed in'} dist/ (${names}) in ${Date.now() - started} ms`,
    );
  } catch (error) {
    // esbuild and the compiler have printed theirs; anything else needs its stack.
    console.error(`build: dist/ was not made. ${error.shown ? error.message : error.stack}`);
    process.exitCode = 1;
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

async function bundle(esbuild) {
  const result = await esbuild
    .build({
      absWorkingDir: root,
      entryPoints: entries,
      outdir: fresh,
      chunkNames: 'chunks/[name]-[hash]',
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      // The SDK runs on the user's Node (20 and newer); the rest on the pinned one.
      target: 'node20',
      // Names of functions and classes show in stack traces and error messages.
      keepNames: true,
      // Source text stays in memory for as long as a process lives: smaller files, smaller agents. Names are
      // kept and lines stay short, so that a stack trace still says where.
      minifyWhitespace: true,
      minifySyntax: true,
      lineLimit: 160,
      legalComments: 'none',
      alias: { undici: join(root, 'scripts/undici-slim.mjs') },
      loader: { '.sql': 'text' },
      // Bundled CommonJS packages ask for Node's own modules with `require`, and some for their place.
      banner: { js: commonJs },
      define: { __filename: '__bundleFile', __dirname: '__bundleFolder' },
      metafile: true,
      logLevel: 'warning',
    })
    .catch((error) => {
      throw shown(error.errors ? `esbuild found ${error.errors.length} error(s).` : error.message);
    });
  return result.metafile;
}

/** The handlers that come with the package, as JavaScript: Node removes no types below node_modules. */
async function handlers(esbuild) {
  const folder = join(root, 'handlers');
  if (!existsSync(folder)) return;
  const named = (await filesUnder(folder)).filter((file) => /@\d+\.ts$/.test(file));
  await esbuild
    .build({
      absWorkingDir: folder,
      entryPoints: named,
      outbase: folder,
      outdir: join(fresh, 'handlers'),
      outExtension: { '.js': '.mjs' },
      // Each with the modules beside it that it needs; packages are found when it runs.
      bundle: true,
      packages: 'external',
      format: 'esm',
      platform: 'node',
      target: 'node24',
      logLevel: 'warning',
    })
    .catch((error) => {
      throw shown(error.errors ? `esbuild found ${error.errors.length} error(s).` : error.message);
    });
}

/** Declarations only; types are checked by `npm run types`, so a half-typed tree still builds. */
async function declarations() {
  const faces = ['src/index.ts', 'src/handler/index.ts'].filter((f) => existsSync(join(root, f)));
  if (faces.length === 0) return;
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const project = join(root, 'tsconfig.types.json');
  const args = [compiler, '--project', project, '--outDir', join(fresh, 'types')];
  await promisify(execFile)(process.execPath, args, { cwd: root }).catch((error) => {
    throw shown(`The declarations could not be made:\n${error.stdout || error.message}`);
  });
}

/** Fails when a heavy package slipped into what a light entry loads at once (a lazy `import()` is fine). */
function staysLight(metafile) {
  for (const [name, banned] of Object.entries(light)) {
    const first = Object.keys(metafile.outputs).find((file) => file.endsWith(`/${name}.js`));
    if (first === undefined) continue;
    const loaded = new Set([first]);
    for (const file of loaded) {
      for (const { path, kind, external } of metafile.outputs[file].imports) {
        if (!external && kind === 'import-statement') loaded.add(path);
      }
    }
    const inputs = [...loaded].flatMap((file) => Object.keys(metafile.outputs[file].inputs));
    for (const input of inputs) {
      const found = banned.find((pkg) => input.startsWith(`node_modules/${pkg}/`));
      if (found) {
        throw shown(
          `dist/${name}.js would load ${found} at its start; import only types from there, or load it lazily with import().`,
        );
      }
    }
  }
}

/** The licences of what is bundled travel with the bundle. */
async function notices(metafile) {
  const folders = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const folder = input.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0];
    if (folder) folders.add(folder);
  }
  const parts = ['dist/ contains code of these packages, each under its own licence.\n'];
  for (const folder of [...folders].sort()) {
    const { name, version, license } = JSON.parse(
      await readFile(join(root, folder, 'package.json'), 'utf8'),
    );
    const file = (await readdir(join(root, folder))).find((f) => /^licen[cs]e/i.test(f));
    const text = file ? await readFile(join(root, folder, file), 'utf8') : '';
    parts.push(`\n==== ${name} ${version} (${license})\n\n${text.trim()}\n`);
  }
  return parts.join('');
}

async function same(a, b) {
  if (!existsSync(b)) return false;
  const [inA, inB] = await Promise.all([a, b].map(filesUnder));
  if (inA.join('\n') !== inB.join('\n')) return false;
  for (const file of inA) {
    const [x, y] = await Promise.all([readFile(join(a, file)), readFile(join(b, file))]);
    if (!x.equals(y)) return false;
  }
  return true;
}

async function filesUnder(folder) {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length + 1))
    .sort();
}

async function swap() {
  const old = join(root, `dist.old-${process.pid}`);
  if (existsSync(dist)) await rename(dist, old);
  await rename(fresh, dist);
  await rm(old, { recursive: true, force: true });
}

/** An error whose message says it all. */
function shown(message) {
  return Object.assign(new Error(message), { shown: true });
}
