/** `npm run binary`: see `--help`, CONTRIBUTING.md and docs/binary.md. */
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { readArguments, usage } from './arguments.mjs';
import { makeAssets } from './assets.mjs';
import { makeLicences, makeSbom } from './beside.mjs';
import { checkExecutable } from './check.mjs';
import { makeCode } from './code.mjs';
import { makeExecutable } from './inject.mjs';
import { report } from './report.mjs';
import { generatorOf, runtimeOf } from './runtime.mjs';
import { finishRelease } from './sign.mjs';
import { fileName, targets } from './targets.mjs';
import { Trouble } from './trouble.mjs';

const root = dirname(dirname(import.meta.dirname));
/** As many at a time: injection needs more than 1 GB of memory. */
const SIDE_BY_SIDE = 2;
const SBOM = 'sbom.cdx.json';
const LICENCES = 'LICENSES.txt';
const INSTALL = 'install.sh';

try {
  const options = readArguments(process.argv.slice(2), root);
  if (options.help) console.log(usage);
  else await build(options);
} catch (error) {
  // esbuild has printed what it found.
  if (error.errors)
    error.message = `our code could not be bundled: ${error.errors.length} error(s).`;
  else if (!(error instanceof Trouble) && error.code !== 'ENOENT') throw error;
  console.error(`binary: ${error.message}`);
  process.exitCode = 1;
}

async function build({ targets: names, out, compressed, sign, publicKeys }) {
  const started = performance.now();
  const keyPem = sign && (await readFile(sign, 'utf8'));
  const code = await makeCode(root, publicKeys);
  const plans = await Promise.all(names.map(planOf));
  const runtimes = [...new Map(plans.map((plan) => [plan.base.version, plan.generator])).values()];
  runtimes.sort((a, b) => (a.version < b.version ? -1 : 1));

  const work = join(root, 'build/work', String(process.pid));
  const made = [];
  const waiting = [...plans];
  try {
    const side = async () => {
      for (let plan = waiting.shift(); plan; plan = waiting.shift())
        made.push(await makeOne(plan, code, work));
    };
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, side));
    made.sort((a, b) => names.indexOf(a.target) - names.indexOf(b.target));
    await mkdir(out, { recursive: true });
    // What lies there is one build of one commit.
    const old = [...Object.keys(targets).map(fileName), SBOM, LICENCES];
    for (const name of old) await rm(join(out, name), { force: true });
    for (const one of made) {
      const file = join(out, one.name);
      await rename(one.file, file).catch(() => moveOver(one.file, file));
      one.file = file;
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  await copyFile(join(root, 'scripts', INSTALL), join(out, INSTALL));
  await writeFile(join(out, LICENCES), await makeLicences(root, code.metafile, runtimes));
  await writeFile(join(out, SBOM), await makeSbom(root, code, made, runtimes));
  const { signedBy } = await finishRelease(out, {
    version: code.version,
    executables: made.map(({ name, target, runtime }) => ({ name, target, node: runtime.version })),
    keyPem,
  });
  console.log(await report(made, { compressed }));
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const signed = signedBy === undefined ? 'not signed' : `signed by ${signedBy}`;
  console.log(`in ${relative(process.cwd(), out) || '.'}, ${signed}, after ${seconds} s`);
}

async function planOf(target) {
  const base = await runtimeOf(target, root);
  return { target, base, generator: await generatorOf(base.version, root) };
}

async function makeOne({ target, base, generator }, code, work) {
  const { format } = targets[target];
  const name = fileName(target);
  const folder = join(work, target);
  const assets = await makeAssets(root, code, generator, { base, work: folder });
  const { boot } = code;
  const { file, blob } = await makeExecutable({
    work: folder,
    format,
    boot,
    assets,
    base,
    generator,
    name,
  });
  const bytes = await readFile(file);
  const seen = checkExecutable(bytes, format, await readFile(blob), name, base.version);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { target, name, file, sha256, runtime: base, seen };
}

/** Where `out` is on another disk. */
async function moveOver(from, to) {
  await writeFile(to, await readFile(from), { mode: 0o755 });
  await rm(from);
}
