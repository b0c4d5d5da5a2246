/**
 * Peers that are broken on purpose, each by one fault planted into our own code, to show that the cases of the conformance
 * kits can fail. Every file `worker-*.mjs` and `control-plane-*.mjs` in this folder exports `faults`, a list of
 *
 *   { name, file, find, replace, and: [{ file, find, replace }, …], cases: ['group/name', …] }
 *
 * `and` is for a fault that the code guards against twice. `find` stands exactly once in `file`: a list that no longer fits the code is an error, not a pass. Every one of `cases`
 * has to fail against that peer, and every case of a kit has to be in the list of one fault at least.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

export const kinds = ['control-plane', 'worker'];

/** Everything that a fault changes. */
export function patchesOf({ name, file, find, replace, and = [] }) {
  return [{ file, find, replace }, ...and].map((patch) => ({ name, ...patch }));
}

/** @returns {Promise<{ kind: string, name: string, file: string, find: string, replace: string, cases: string[] }[]>} */
export async function allFaults() {
  const found = [];
  for (const file of readdirSync(import.meta.dirname).sort()) {
    const kind = kinds.find((one) => file.startsWith(`${one}-`) && file.endsWith('.mjs'));
    if (kind === undefined) continue;
    const { faults } = await import(join(import.meta.dirname, file));
    for (const fault of faults) found.push({ kind, ...fault });
  }
  return found;
}
