/** Node.js and our data become one file. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { withNote } from './elf.mjs';
import { signMacho } from './mac-sign.mjs';
import { unsignPe } from './pe-unsign.mjs';
import { Trouble } from './trouble.mjs';

export const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
export const RESOURCE = 'NODE_SEA_BLOB';
/** The first Node.js that injects by itself. We build for older ones on Linux alone (elf.mjs). */
const INJECTS_ITSELF = 26;
const run = promisify(execFile);

/**
 * @param work folder of this target alone, for files on the way. No path of it gets into the file: all names are relative.
 * @param assets name → content. @param base runtime of the target. @param generator Node.js of the same version that runs here.
 * @returns {Promise<{ file: string, blob: string }>}
 */
export async function makeExecutable({ work, format, boot, assets, base, generator, name }) {
  await mkdir(work, { recursive: true });
  await writeFile(join(work, 'boot.js'), boot);
  const files = {};
  for (const [id, content] of assets) {
    files[id] = join('assets', id);
    await mkdir(dirname(join(work, files[id])), { recursive: true });
    await writeFile(join(work, files[id]), content);
  }
  const config = {
    main: 'boot.js',
    output: 'sea.blob',
    disableExperimentalSEAWarning: true,
    // The boot is small, and what V8 keeps of it differs from CPU to CPU; see code-cache.mjs.
    useCodeCache: false,
    useSnapshot: false,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    execArgvExtension: 'env',
    assets: files,
  };
  await writeFile(join(work, 'sea.json'), JSON.stringify(config));
  await step(work, generator.file, ['--predictable', '--experimental-sea-config', 'sea.json']);
  const file = join(work, name);
  if (parseInt(base.version, 10) >= INJECTS_ITSELF) {
    const whole = { ...config, output: name, executable: base.file };
    await writeFile(join(work, 'build-sea.json'), JSON.stringify(whole));
    await step(work, generator.file, ['--predictable', '--build-sea', 'build-sea.json']);
  } else {
    const [node, blob] = await Promise.all([readFile(base.file), readFile(join(work, 'sea.blob'))]);
    await writeFile(file, setFuse(withNote(node, RESOURCE, blob)));
  }
  if (format === 'macho') await rewrite(file, (bytes) => signMacho(bytes, 'interlock-worker'));
  if (format === 'pe') await rewrite(file, unsignPe);
  await chmod(file, 0o755);
  return { file, blob: join(work, 'sea.blob') };
}

async function step(cwd, program, args) {
  // Neither the language nor the time zone nor options for Node.js of whoever builds.
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, LC_ALL: 'C', TZ: 'UTC' };
  await run(program, args, { cwd, env }).catch((error) => {
    const why = `${error.stdout}${error.stderr}` || error.message;
    throw new Trouble(
      `${[program, ...args].join(' ')} in ${cwd} ended with ${error.code}:\n${why}`,
    );
  });
}

/** Says that there is data. Node.js looks for none without it. */
function setFuse(bytes) {
  const at = bytes.indexOf(`${FUSE}:0`);
  if (at === -1) throw new Trouble('The runtime has no fuse for a single executable.');
  bytes[at + FUSE.length + 1] = 0x31;
  return bytes;
}

async function rewrite(file, change) {
  await writeFile(file, change(await readFile(file)));
}
