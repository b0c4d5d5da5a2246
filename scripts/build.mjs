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
import { distBundles, entries, handlerOptions } from './bundle.mjs';
import { licenceTexts } from './licences.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');
const fresh = join(root, `dist.new-${process.pid}`);

/** Entries that must start fast and small, and the packages that may not be loaded with them. */
const light = {
  host: ['undici', 'zod', 'yargs', 'pino', 'hono', '@hono/node-server', 'eventsource'],
  handler: ['undici', 'zod', 'yargs', 'pino', 'hono', '@hono/node-server', 'eventsource'],
  'worker-main': ['undici', 'yargs', 'prom-client', 'hono', '@hono/node-server', 'ajv'],
  'sdk-agent': ['yargs', 'hono', '@hono/node-server', 'ajv', 'ajv-formats'],
};

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
    staysBeside(metafile);
    await staysAscii(metafile);
    await staysFew();
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
  const made = await Promise.all(
    distBundles(root).map((options) =>
      esbuild.build({ ...options, outdir: fresh, metafile: true, logLevel: 'warning' }),
    ),
  ).catch((error) => {
    throw shown(error.errors ? `esbuild found ${error.errors.length} error(s).` : error.message);
  });
  return {
    inputs: Object.assign({}, ...made.map(({ metafile }) => metafile.inputs)),
    outputs: Object.assign({}, ...made.map(({ metafile }) => metafile.outputs)),
  };
}

/** Those that come with the package. */
async function handlers(esbuild) {
  if (!existsSync(join(root, 'handlers'))) return;
  const options = { ...handlerOptions(root), outdir: join(fresh, 'handlers') };
  await esbuild.build(options).catch((error) => {
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

/** The SDK finds the file of its agent beside itself: that code may not move into a shared chunk, which has another place. */
function staysBeside({ outputs }) {
  const finder = 'src/sdk/agent-options.ts';
  const where = Object.keys(outputs).filter((file) => outputs[file].inputs[finder]);
  if (where.length === 1 && where[0].endsWith('/sdk.js')) return;
  throw shown(`${finder} went into ${where.join(', ')}; only the entry sdk may import it.`);
}

/** One character beyond it, and V8 keeps the source of a whole file with two bytes for each character, for good. */
async function staysAscii({ outputs }) {
  for (const file of Object.keys(outputs)) {
    const bytes = await readFile(join(root, file));
    const at = bytes.findIndex((byte) => byte > 127);
    if (at < 0) continue;
    const around = bytes.toString('utf8', Math.max(0, at - 40), at + 10);
    throw shown(
      `${file} is not all ASCII, near ${JSON.stringify(around)}. esbuild leaves regular expressions as they are: write \\u2026 there.`,
    );
  }
}

/** A worker submits nothing: a schema of that in its file means that none has fallen away (`bundle-schemas.mjs`). */
async function staysFew() {
  const text = await readFile(join(fresh, 'worker-main.js'), 'utf8');
  // Long lines are cut, in texts too.
  if (!text.replaceAll('\\\n', '').includes('"SubmitRequest"')) return;
  throw shown('dist/worker-main.js holds schemas of the contract that a worker never uses.');
}

/** The licences of what is bundled travel with the bundle. */
async function notices(metafile) {
  const texts = await licenceTexts(root, metafile);
  return `dist/ contains code of these packages, each under its own licence.\n${texts}`;
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
