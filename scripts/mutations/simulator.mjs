/** Plays seeds with a mutation in the bundle; the tree itself stays as it is. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { bundleSimulator } from '../sim-bundle.mjs';
import { patched } from './patched.mjs';

/** A seed takes a second at most; one that goes on for so long goes on for ever. */
const HANG_MS = 90_000;

/** Bundles `sim/run.ts`, with the mutation if there is one. @returns its path. */
export async function bundle(root, name, mutation) {
  let applied = mutation === undefined;
  const outfile = await bundleSimulator(root, `mutation-${name}`, {
    plugins: mutation && [
      {
        name: 'mutation',
        setup({ onLoad }) {
          onLoad({ filter: /\.ts$/ }, ({ path }) => {
            if (path !== join(root, mutation.file)) return undefined;
            applied = true;
            return { contents: patched(mutation, readFileSync(path, 'utf8')), loader: 'ts' };
          });
        },
      },
    ],
  });
  return applied ? outfile : undefined;
}

/**
 * Plays seeds until one breaks a rule, or they or the time are used up.
 * @returns `{ runs, broke }`, `broke` being `{ world, seed, checker, text }` of the first.
 */
export function play(outfile, { from = 1, runs, seconds, worlds, faults }, children) {
  const args = ['--json', '--from', `${from}`, '--runs', `${runs}`];
  if (worlds) args.push('--world', worlds.join(','));
  if (faults) args.push('--faults', faults);
  const child = spawn(process.execPath, [outfile, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    words = (words + text).slice(-4_000);
  });
  return new Promise((resolve) => {
    let done = 0;
    let broke;
    let over = false;
    const end = (found) => {
      broke ??= found;
      over = true;
      child.kill('SIGKILL');
    };
    const limit = seconds && setTimeout(() => end(), seconds * 1_000);
    let hang;
    const watch = () => {
      clearTimeout(hang);
      hang = setTimeout(
        () => end({ checker: 'does not end', text: `after ${done} runs` }),
        HANG_MS,
      );
    };
    watch();
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (over) return;
      watch();
      done++;
      const { seed, world, violations } = JSON.parse(line);
      if (violations.length > 0) end({ seed, world, ...violations[0] });
    });
    child.on('close', (code) => {
      clearTimeout(limit);
      clearTimeout(hang);
      children.delete(child);
      if (!over && !broke && code !== 0)
        broke = {
          checker: 'throws',
          text: /^\S*Error.*$/m.exec(words)?.[0] ?? `exit code ${code}`,
        };
      resolve({ runs: done, broke });
    });
  });
}
