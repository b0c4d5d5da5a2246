/**
 * What V8 has compiled of our chunks, as assets beside them: an agent starts sooner and smaller, also where nothing can be
 * kept on disk. Only for the target with the building machine's CPU and Node.js; V8 takes it or compiles by itself.
 */
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Trouble } from './trouble.mjs';

/** Around a chunk, here and in the boot. */
export const codeWrapper = ['(function(exports,require,module,__filename,__dirname){\n', '\n})'];
export const cacheOf = (id) => `${id}.cache`;

/** Sources whose chunks every start of a worker or a host loads. Others are not worth their bytes. */
const WARM = [
  'src/cli/standalone.ts',
  'src/cli/run.ts',
  'src/cli/worker-program.ts',
  'src/cli/worker-agent.ts',
  'src/handler/host.ts',
];
/** These begin their work when they are loaded: they are only compiled. */
const PROGRAMS = ['host.js'];

/** @returns {Promise<Map<string, Buffer>>} name of the asset → V8's data */
export async function makeCodeCaches({ chunks, metafile }, node, work) {
  const ids = warmChunks(metafile).filter((id) => chunks.has(id));
  const folder = join(work, 'code-cache');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const list = join(folder, 'chunks.json');
  await writeFile(
    list,
    JSON.stringify({ codeWrapper, ids, programs: PROGRAMS, chunks: [...chunks] }),
  );
  // One thread and no chance: the same bytes each time.
  const args = ['--predictable', join(import.meta.dirname, 'code-cache-maker.cjs'), list, folder];
  await promisify(execFile)(node, args, { env: {} }).catch((error) => {
    throw new Trouble(`Our code could not be loaded to keep it compiled:\n${error.stderr}`);
  });
  const files = (await readdir(folder)).filter((name) => name.endsWith('.cache')).sort();
  return new Map(
    await Promise.all(
      files.map(async (name) => [
        cacheOf(ids[parseInt(name, 10)]),
        await readFile(join(folder, name)),
      ]),
    ),
  );
}

/** Chunks that hold one of the warm sources, and all that they load at once. */
function warmChunks({ outputs }) {
  const names = Object.keys(outputs);
  const wanted = new Set(
    names.filter((name) => WARM.some((source) => outputs[name].inputs[source])),
  );
  for (const name of wanted) {
    for (const { path, kind, external } of outputs[name].imports) {
      if (!external && kind === 'import-statement') wanted.add(path);
    }
  }
  return [...wanted].map((name) => name.replace(/^build\/chunks\//, '')).sort();
}
