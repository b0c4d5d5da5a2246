import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { firstWorkerRows } from '../docs/first-worker-rows.ts';
import { Processes, ROOT } from '../e2e/processes.ts';

// The whole worker in Python is played by `npm run conformance -- python-worker`, a step of .ci/run of its own.

/** Under a minute on a machine that has nothing else to do. */
const KIT_MS = 5 * 60_000;
const PAGE = readFileSync(join(ROOT, 'docs/write-your-own-worker.md'), 'utf8');

let home: string;
let processes: Processes;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'interlock-python-'));
  processes = new Processes(home);
});
afterEach(async () => {
  await processes.end();
  rmSync(home, { recursive: true, force: true });
});

it('the first worker in Python passes every case that its page does not except', {
  timeout: KIT_MS,
}, async () => {
  expect(spawnSync('python3', ['--version']).status, 'python3 is missing').toBe(0);
  const rows = firstWorkerRows(PAGE);
  const excepted = rows.flatMap(({ cases }) => cases);
  const list = processes.start('interlock', ['conformance', 'worker', '--list']);
  await list.ending(60_000);
  const all = [...list.out.matchAll(/^(\w[\w-]*\/[\w-]+) /gm)].map(([, name = '']) => name);
  expect(excepted.filter((name) => !all.includes(name))).toEqual([]);
  for (const { group, total } of rows) {
    const count = all.filter((name) => name.startsWith(`${group}/`)).length;
    expect(`${group} ${total}`).toBe(`${group} ${count}`);
  }

  const names = all.filter((name) => !excepted.includes(name));
  // With a star a pattern is a whole name.
  const only = names.flatMap((name) => ['--only', `*${name}`]);
  const worker = join(ROOT, 'samples/python-worker/first_worker.py');
  // They wait more than they work: more at a time than the kit's own number.
  const args = [
    'conformance',
    'worker',
    '--json',
    '--jobs',
    '16',
    ...only,
    '--',
    'python3',
    worker,
  ];
  // No folder for compiled modules in the checkout.
  const kit = processes.start('interlock', args, { env: { PYTHONDONTWRITEBYTECODE: '1' } });
  await kit.ending(KIT_MS);
  const { cases } = JSON.parse(kit.out) as { cases: { name: string; outcome: string }[] };
  expect(cases.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
  expect(cases.map(({ name }) => name)).toEqual(names);
});
