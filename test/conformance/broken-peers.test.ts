import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transform } from 'esbuild';
import { expect, it } from 'vitest';
import { brokenPeersPage } from '../../scripts/broken-peers-page.ts';
import { controlPlaneCases } from '../../src/conformance/control-plane/index.ts';
import { workerCases } from '../../src/conformance/worker/index.ts';

interface Patch {
  name: string;
  file: string;
  find: string;
  replace: string;
}
type Fault = Patch & { kind: string; cases: string[] };
interface Lists {
  kinds: string[];
  allFaults(): Promise<Fault[]>;
  patchesOf(fault: Fault): Patch[];
}

const root = join(import.meta.dirname, '../..');
/** Scripts have no types. */
const script = (file: string): Promise<unknown> => import(join(root, 'scripts', file));
const { kinds, allFaults, patchesOf } = (await script('broken-peers/index.mjs')) as Lists;
const { patched } = (await script('mutations/patched.mjs')) as {
  patched(patch: Patch, text: string): string;
};
const faults = await allFaults();
const names: Record<string, string[]> = {
  'control-plane': controlPlaneCases.map(({ name }) => name),
  worker: workerCases.map(({ name }) => name),
};

/** What is no code with the fault in it would be caught by anything, and shows nothing. */
async function misfits(faults: Patch[][]): Promise<string[]> {
  const all = await Promise.all(faults.map(misfit));
  return all.filter((why) => why !== undefined);
}

async function misfit(patches: Patch[]): Promise<string | undefined> {
  const texts = new Map<string, string>();
  try {
    for (const patch of patches) {
      const { file } = patch;
      texts.set(file, patched(patch, texts.get(file) ?? readFileSync(join(root, file), 'utf8')));
    }
    for (const text of texts.values()) await transform(text, { loader: 'ts', logLevel: 'silent' });
    return undefined;
  } catch (error) {
    return `${patches[0]?.name}: ${(error as Error).message}`;
  }
}

it('every fault of the broken peers fits the code as it is, and leaves code', async () => {
  expect(await misfits(faults.map(patchesOf))).toEqual([]);
});

it('so does every planted bug: npm run mutations begins with none that does not', async () => {
  const { mutations } = (await script('mutations/index.mjs')) as { mutations: Patch[] };
  expect(await misfits(mutations.map((one) => [one]))).toEqual([]);
});

it('every fault has a name of its own and names cases that there are', () => {
  const told = faults.map(({ kind, name }) => `${kind}: ${name}`);
  expect(told.filter((name, i) => told.indexOf(name) !== i)).toEqual([]);
  const strange = faults.flatMap(({ kind, name, cases }) =>
    cases.filter((one) => !names[kind]?.includes(one)).map((one) => `${name}: ${one}`),
  );
  expect(strange).toEqual([]);
});

it('docs/conformance.md tells them by case: npm run docs', async () => {
  const page = readFileSync(join(root, 'docs/conformance.md'), 'utf8');
  expect((await brokenPeersPage(page)) === page).toBe(true);
});

it.each(kinds)('every case of the kit for a %s is shown to fail by one fault at least', (kind) => {
  const caught = new Set(faults.filter((one) => one.kind === kind).flatMap(({ cases }) => cases));
  expect(names[kind]?.filter((name) => !caught.has(name))).toEqual([]);
});
