/** `interlock conformance worker`: its command line, what it tells, and that it leaves nothing behind. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { Processes, ROOT, until } from '../e2e/processes.ts';
import { faultOfXml } from '../xml.ts';
import { interlock } from './run.ts';
import { temporaryFolder } from './world.ts';

vi.setConfig({ testTimeout: 120_000 });

const COMMAND = ['conformance', 'worker'];
const OURS = [
  process.execPath,
  join(ROOT, 'dist/interlock-worker.js'),
  '--handlers',
  join(ROOT, 'samples/conformance-handlers'),
];

describe('interlock conformance worker', () => {
  it('needs a command after --, and says so', async () => {
    const { code, err } = await interlock(COMMAND);
    expect(code).toBe(64);
    expect(err).toContain('needs the command that starts a worker, after --');
  });

  it('says that the command comes after --, also where that has flags', async () => {
    for (const words of [
      ['python3', 'me.py'],
      ['python3', 'me.py', '--slots', '2'],
    ]) {
      const { code, err } = await interlock([...COMMAND, '--only', 'reports/once', ...words]);
      expect(code).toBe(64);
      expect(err).toContain('takes the command after --, with a blank on both sides: … -- python3');
    }
  });

  it('tells a program that is not there, what to do, and its own name as it is typed here', async () => {
    const given = {
      programs: filePrograms(join(ROOT, 'dist')),
      cwd: ROOT,
      env: { PATH: process.env.PATH ?? '' },
    };
    const none = await interlock([...COMMAND, '--', 'nosuchcmd'], given);
    expect(none.code).toBe(20);
    expect(none.err).toContain('There is no program nosuchcmd on the PATH.');
    expect(none.err).toContain('-- python3 worker.py');
    expect(none.err).not.toContain('on the wire');
    const unfit = await interlock([...COMMAND, '--', 'true'], given);
    expect(unfit.err).toContain('./bin/interlock conformance worker --manifest');
  });

  it('refuses a number of jobs and a patience that are none', async () => {
    for (const wrong of [
      ['--jobs', '0'],
      ['--jobs', 'many'],
      ['--patience', 'long'],
    ]) {
      const { code, err } = await interlock([...COMMAND, ...wrong, '--', 'true']);
      expect(code, wrong.join(' ')).toBe(64);
      expect(err).toContain(`${wrong[0]} must be`);
    }
  });

  it('tells the cases and what they check, and plays none', async () => {
    const { code, out } = await interlock([...COMMAND, '--list', '--json', '--only', 'spool/']);
    expect(code).toBe(0);
    const { cases } = JSON.parse(out) as { cases: { name: string; promises: string[] }[] };
    expect(cases.length).toBeGreaterThan(8);
    for (const { name, promises } of cases) {
      expect(name).toMatch(/^spool\//);
      expect(promises.length).toBeGreaterThan(0);
    }
  });

  it('tells what a worker gets and must offer, as JSON', async () => {
    const { code, out } = await interlock([...COMMAND, '--manifest']);
    expect(code).toBe(0);
    const told = JSON.parse(out);
    expect(Object.keys(told.environment)).toContain('INTERLOCK_CONFORMANCE_DIR');
    expect(told.handlers).toContainEqual(
      expect.objectContaining({ name: 'conformance/echo@1', effectSafety: 'idempotent' }),
    );
  });

  it('leaves flags after -- to the command, and tells a program that is no worker', async () => {
    const words = [process.execPath, '-e', 'process.exit(process.argv.length)', '--', '--key', 'x'];
    const { code, err } = await interlock([...COMMAND, '--json', '--', ...words]);
    expect(code).toBe(20);
    const { error } = JSON.parse(err);
    expect(error.code).toBe('WORKER_UNFIT');
    expect(error.message).toContain('ended by itself with exit code 3');
  });

  it('tells a failed case with its promise, the wire and no key, in JUnit too, and ends with 20', async () => {
    const folder = temporaryFolder();
    const processes = new Processes(folder);
    const junit = join(folder, 'report.xml');
    // A worker that claims nothing after its first start: the restarted one never comes.
    const once = `[ -e "$INTERLOCK_SPOOL/../begun" ] && exec sleep 60; touch "$INTERLOCK_SPOOL/../begun"; exec "$@"`;
    const command = ['sh', '-c', once, 'sh', ...OURS];
    const args = [...COMMAND, '--only', 'spool/report-before-sending', '--patience', '8s'];
    try {
      const run = processes.start('interlock', [...args, '--junit', junit, '--', ...command], {});
      const { code } = await run.ending(100_000);
      expect(code).toBe(20);
      expect(run.out).toMatch(/^✗ spool\/report-before-sending/m);
      expect(run.out).toMatch(/promise 5\.2 {2}The worker has a terminal report/);
      expect(run.out).toContain('The kit waited 8 s in vain for: a first claim');
      expect(run.out).toContain('on the wire:');
      const xml = readFileSync(junit, 'utf8');
      expect(faultOfXml(xml)).toBeUndefined();
      expect(xml).toContain('failures="1"');
      for (const text of [run.out, xml]) expect(text).not.toMatch(/il_\w/);
    } finally {
      await processes.end();
    }
  });

  it('ends its workers and removes their folders when it is stopped', async () => {
    const folder = temporaryFolder();
    const processes = new Processes(folder);
    const left = () => readdirSync(folder).filter((name) => name.startsWith('interlock-conf'));
    try {
      const args = [...COMMAND, '--only', 'signals/suspended', '--', ...OURS];
      const run = processes.start('interlock', args, { env: { TMPDIR: folder } });
      await until(() => left().length > 0, 'folders of the kit');
      run.kill('SIGTERM');
      const { code } = await run.ending(60_000);
      expect(code).not.toBe(0);
      expect(left()).toEqual([]);
    } finally {
      await processes.end();
    }
  });
});

import { filePrograms } from '../../src/cli/programs.ts';
