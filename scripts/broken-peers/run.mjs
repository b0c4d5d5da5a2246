/** Runs a kit and reads its verdicts. */
import { spawn } from 'node:child_process';
import { endGroup } from '../mutations/tests.mjs';

/** A kit that does not end by itself is broken, but not for ever. */
const RUN_MS = 15 * 60_000;
/** … and one that is asked to end has to within this. */
const ASKED_MS = 20_000;

/**
 * @param kit file `interlock.js` of our programs as they are.
 * @returns {Promise<{ name: string, outcome: string, says?: string }[]>} the verdicts.
 */
export async function runKit(kit, args, children) {
  const { code, out, words } = await run([kit, ...args], children);
  try {
    return JSON.parse(out).cases;
  } catch {
    throw new Error(`The kit ended with ${code} and no report: ${words.trim() || 'no word'}`);
  }
}

/** @returns {Promise<string[]>} the names of all cases of a kit. */
export async function caseNames(kit, kind, children) {
  const { out } = await run([kit, 'conformance', kind, '--list', '--json'], children);
  return JSON.parse(out).cases.map(({ name }) => name);
}

/** A kit ends what it has started, if it is asked; killed, it would leave that behind. */
export async function endKit(child) {
  const gone = new Promise((resolve) => child.once('close', resolve));
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => endGroup(child), ASKED_MS);
  await gone;
  clearTimeout(timer);
}

async function run(args, children) {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
    env: { ...process.env, NO_COLOR: '1' },
  });
  children.add(child);
  let out = '';
  let words = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    words = (words + text).slice(-4_000);
  });
  const timer = setTimeout(() => endKit(child), RUN_MS);
  const code = await new Promise((resolve) => child.on('close', resolve));
  clearTimeout(timer);
  children.delete(child);
  return { code, out, words };
}
