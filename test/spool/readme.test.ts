import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SimulatedMachine } from '../../sim/machine.ts';
import { groupName } from '../../src/spool/layout.ts';
import { systemDisk } from '../../src/system/disk.ts';
import { complete, META, open } from './world.ts';

/** What `spool/README.md` tells readers in other languages is run here as it stands there. */

let folder = '';
let readme = '';

beforeAll(async () => {
  readme = await readFile(join(import.meta.dirname, '../../spool/README.md'), 'utf8');
  folder = await mkdtemp(join(tmpdir(), 'interlock-readme-'));
  const disk = systemDisk();
  const process = new SimulatedMachine().start();
  const spool = await open(process, { disk, folder });
  for (const result of ['plain', 'Grüße, 世界 \\ "quoted" `ls` $HOME \u0001', ',"sum":"'])
    await spool.writeReport(complete('att_a', result), META);
  await Promise.all(['att_b', 'att_c'].map((id) => spool.writeReport(complete(id), META)));
  await spool.answered(await spool.writeReport(complete('att_d'), META));
  await spool.idle();
  // One that was altered.
  const bad = JSON.stringify({ v: 1, kind: 'report', sum: '0'.repeat(64) });
  await disk.writeFile(join(folder, 'reports', groupName(99, '0123abcd')), `${bad}\n`);
});
afterAll(() => rm(folder, { recursive: true }));

function block(language: string): string {
  const found = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(readme);
  return found?.[1] ?? '';
}

function run(command: string, args: string[]): string[] {
  const { stdout } = spawnSync(command, args, { cwd: folder, encoding: 'utf8' });
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.slice(0, 4).trim());
}

const has = (command: string, args: string[]) => spawnSync(command, args).status === 0;

/** Of one attempt the last report, two others, one that was answered and the mark that says so, and the altered one. */
const GOOD_AND_BAD = ['good', 'good', 'good', 'good', 'good', 'BAD'];

const noBash = !has('bash', ['-c', 'echo x | sha256sum']);
if (noBash) console.info('left out: the README’s lines for bash (no bash with sha256sum here)');
it.skipIf(noBash)('the lines for bash tell good records from bad ones', () => {
  expect(run('bash', ['-c', block('bash')])).toEqual(GOOD_AND_BAD);
});

const noPython = !has('python3', ['--version']);
if (noPython) console.info('left out: the README’s lines for Python (no python3 here)');
it.skipIf(noPython)('the lines for Python tell good records from bad ones', () => {
  expect(run('python3', ['-c', block('python')])).toEqual(GOOD_AND_BAD);
});

it('names every folder and every kind of line', () => {
  for (const name of ['owner.json', 'reports/', 'running/', 'stale/', 'refused/', 'corrupt/'])
    expect(readme).toContain(name);
  for (const kind of ['report', 'running', 'mark', 'stale', 'refused', 'corrupt', 'owner'])
    expect(readme).toContain(`\`${kind}\``);
});
