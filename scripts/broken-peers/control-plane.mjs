/** A broken control plane before the kit for control planes. */
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endGroup } from '../mutations/tests.mjs';

/** Leases that run out soon: many cases wait for that. */
const LEASE_MIN = '1s';
const READY_MS = 30_000;
/** Option of the kit → whose key. */
const KEYS = {
  'worker-key-file': ['task-worker', 'default'],
  'producer-key-file': ['task-producer', 'default'],
  'operator-key-file': ['task-operator', 'default'],
  'admin-key-file': ['admin', 'default'],
  'other-worker-key-file': ['task-worker', 'other'],
  'other-producer-key-file': ['task-producer', 'other'],
};

let started;

/**
 * The command line of a kit run against the control plane in `folder`, which runs until `close`.
 *
 * @param kit file `interlock.js` of our programs as they are: it makes the keys, so that no fault is in their way.
 */
export async function kitArguments({ root, folder, kit, only, children }) {
  started ??= prepare(kit, children);
  const { home, keyArguments } = await started;
  const data = mkdtempSync(join(home, 'data-'));
  cpSync(join(home, 'data'), data, { recursive: true });
  const options = ['--data', data, '--listen', '127.0.0.1:0', '--lease-min', LEASE_MIN];
  const plane = start([...programArguments(root, folder), ...options], home, children);
  const close = async () => {
    plane.child.kill('SIGTERM');
    await plane.ended;
    rmSync(data, { recursive: true, force: true });
  };
  try {
    const url = await plane.ready;
    return {
      args: ['conformance', 'control-plane', '--json', '--url', url, ...keyArguments, ...only],
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The peer alone: `node <these>`, with the options of `interlock control-plane` after them. */
export function programArguments(_root, folder) {
  return [join(folder, 'interlock.js'), 'control-plane'];
}

/** A data folder with keys of two projects, to be copied for each peer, and files that hold the keys. */
async function prepare(kit, children) {
  const home = mkdtempSync(join(tmpdir(), 'interlock-broken-planes-'));
  process.on('exit', () => rmSync(home, { recursive: true, force: true }));
  const data = join(home, 'data');
  mkdirSync(data);
  const keyArguments = [];
  for (const [option, [kind, project]] of Object.entries(KEYS)) {
    const args = ['keys', 'new', option, '--kind', kind, '--project', project, '--json'];
    const made = start([kit, ...args, '--data', data, '--create-data'], home, children);
    if ((await made.ended) !== 0) throw new Error(`No key of kind ${kind}: ${made.words()}`);
    const file = join(home, option);
    writeFileSync(file, `${JSON.parse(made.out()).key}\n`, { mode: 0o600 });
    keyArguments.push(`--${option}`, file);
  }
  return { home, keyArguments };
}

function start(args, home, children) {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
    // No profile and no variables of whoever runs this.
    env: { PATH: process.env.PATH, HOME: home, NO_COLOR: '1' },
  });
  children.add(child);
  let out = '';
  let words = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text;
  });
  const ended = new Promise((resolve) => child.on('close', resolve)).finally(() => {
    children.delete(child);
  });
  let timer;
  const ready = new Promise((resolve, reject) => {
    timer = setTimeout(() => {
      endGroup(child);
      reject(new Error(`The control plane was not ready in time: ${words}`));
    }, READY_MS);
    child.stderr.setEncoding('utf8').on('data', (text) => {
      words = (words + text).slice(-4_000);
      const [, url] = /answers at (http:\S+?),/.exec(words) ?? [];
      if (url) resolve(url);
    });
    ended.then((code) => reject(new Error(`The control plane ended with ${code}: ${words}`)));
  }).finally(() => clearTimeout(timer));
  // Nobody waits for it where a command just runs to its end.
  ready.catch(() => {});
  return { child, ended, ready, out: () => out, words: () => words };
}
