/**
 * `node scripts/binary/twin.mjs FILE`: an executable for this machine with the Node.js of the targets that cannot run here
 * (macOS, Windows) and the same data, so that tests can see our code work in that version.
 */
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { makeAssets } from './assets.mjs';
import { checkExecutable } from './check.mjs';
import { makeCode } from './code.mjs';
import { makeExecutable } from './inject.mjs';
import { generatorOf, runtimeOf } from './runtime.mjs';

const root = dirname(dirname(import.meta.dirname));
const [file = join(root, 'build/twin/interlock-worker')] = process.argv.slice(2);
const work = join(root, 'build/work', `twin-${process.pid}`);
try {
  const { version } = await runtimeOf('win-x64', root);
  const generator = await generatorOf(version, root);
  const code = await makeCode(root, []);
  const assets = await makeAssets(root, code, generator);
  const made = await makeExecutable({
    ...{ work, format: 'elf', boot: code.boot, assets },
    ...{ base: generator, generator, name: 'interlock-worker' },
  });
  const [bytes, blob] = await Promise.all([readFile(made.file), readFile(made.blob)]);
  const seen = checkExecutable(bytes, 'elf', blob, 'The twin', version);
  await mkdir(dirname(resolve(file)), { recursive: true });
  await rename(made.file, resolve(file));
  console.log(`${file}: Node.js ${version}, ${seen}`);
} finally {
  await rm(work, { recursive: true, force: true });
}
