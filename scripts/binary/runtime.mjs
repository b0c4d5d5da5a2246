/**
 * The Node.js that an executable is made of, from the packages of our lockfiles alone. npm checks what it loads against the
 * hashes in the lock. Each is kept under its hash in `build/runtimes/`, so that a second build loads nothing.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { targets } from './targets.mjs';
import { Trouble } from './trouble.mjs';

const run = promisify(execFile);
const lists = ['package.json', 'package-lock.json', '.npmrc'];
/** Of a package; the rest are headers and manuals. */
const KEPT = ['bin', 'LICENSE', 'package.json'];
const underWay = new Map();

/** @returns {Promise<{ file: string, folder: string, version: string, package: string, integrity: string }>} */
export async function runtimeOf(target, root) {
  return runtime(root, root, targets[target]);
}

/** The Node.js of this machine that runs the generator, in the version that is asked for. */
export async function generatorOf(version, root) {
  const { platform: os, arch: cpu } = process;
  if (os !== 'linux') throw new Trouble(`Executables are built on Linux; this is ${os}.`);
  const own = { os, cpu, package: `node-linux-${cpu}` };
  const places = [root, join(root, 'scripts/binary/generator')];
  for (const place of places) {
    const locked = await lockedPackage(place, own.package);
    if (locked?.version === version) return running(await runtime(root, place, own));
  }
  throw new Trouble(
    `No lockfile has ${own.package} ${version}, which has to write the data of a Node.js of that version. ` +
      'Bring scripts/binary/generator/package.json to it and run "npm install --package-lock-only" there.',
  );
}

/** What it says of itself is asked once it is there: it may need a library that this machine has not. */
async function running(found) {
  const said = await run(found.file, ['--version']).catch((error) => {
    const needs = /libatomic/.test(error.stderr)
      ? ' Install libatomic1 (Debian) or libatomic.'
      : '';
    throw new Trouble(`Node.js ${found.version} does not run here: ${error.stderr}${needs}`);
  });
  if (said.stdout.trim() === `v${found.version}`) return found;
  throw new Trouble(`${found.file} is ${said.stdout.trim()}, and the lock says ${found.version}.`);
}

async function runtime(root, place, { os, cpu, package: name }) {
  const locked = await lockedPackage(place, name);
  if (locked === undefined) throw new Trouble(`${name} is not in ${join(place, lists[1])}.`);
  const { version, integrity, bin } = locked;
  const found = (folder) => ({
    folder,
    file: join(folder, bin.node),
    version,
    package: name,
    integrity,
  });
  const ours = join(root, 'node_modules', name);
  if (place === root && (await installedVersion(ours)) === version) return found(ours);
  const hash = createHash('sha256').update(integrity).digest('hex').slice(0, 16);
  const kept = join(root, 'build/runtimes', `${name}-${version}-${hash}`);
  if (!existsSync(kept)) {
    if (!underWay.has(kept)) underWay.set(kept, install(place, { os, cpu, name, version, kept }));
    await underWay.get(kept);
  }
  return found(kept);
}

async function install(place, { os, cpu, name, version, kept }) {
  const work = `${kept}.${process.pid}`;
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  try {
    for (const file of lists) await copyFile(join(place, file), join(work, file));
    const platform = [`--os=${os}`, `--cpu=${cpu}`];
    await run('npm', ['ci', ...platform, '--ignore-scripts', '--omit=dev'], {
      cwd: work,
      env: environment(),
    }).catch((error) => {
      throw new Trouble(
        `npm could not bring ${name} ${version} for ${os} ${cpu}:\n${error.stderr || error.message}`,
      );
    });
    const folder = join(work, 'node_modules', name);
    const there = await installedVersion(folder);
    if (there !== version)
      throw new Trouble(`npm brought ${name} ${there}, and the lock says ${version}.`);
    for (const entry of await readdir(folder))
      if (!KEPT.includes(entry)) await rm(join(folder, entry), { recursive: true });
    // Another build of this tree may have been quicker.
    if (!existsSync(kept)) await rename(folder, kept);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Of `npm run` around us, npm gets only what says how it reaches the registry. */
function environment() {
  const ofOuter = /^(npm_(package|lifecycle|command|config_local)|NODE_OPTIONS$|INIT_CWD$)/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofOuter.test(name)));
}

async function lockedPackage(place, name) {
  const { packages } = JSON.parse(await readFile(join(place, 'package-lock.json'), 'utf8'));
  return packages[`node_modules/${name}`];
}

async function installedVersion(folder) {
  const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => undefined);
  return text && JSON.parse(text).version;
}
