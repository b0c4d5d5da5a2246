/** One file under several names, from any place: which program it is, and what it tells people to type. */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VERSION } from '../../src/contract/version.ts';
import { theExecutable } from './executable.ts';

let folder: string;
let executable: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'names-'));
  executable = join(folder, 'interlock-worker-linux-x64');
  try {
    linkSync(theExecutable(), executable);
  } catch {
    copyFileSync(theExecutable(), executable);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A link of that name in our folder. */
function link(name: string, target = executable): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  try {
    symlinkSync(target, file);
  } catch {}
  return file;
}

function run(
  file: string,
  args: readonly string[],
  how: { cwd?: string; argv0?: string; path?: string } = {},
) {
  const { stdout, stderr, status } = spawnSync(file, args, {
    cwd: how.cwd ?? folder,
    ...(how.argv0 && { argv0: how.argv0 }),
    env: { PATH: how.path ?? '/usr/bin:/bin', HOME: folder },
    encoding: 'utf8',
  });
  return { out: stdout, err: stderr, code: status };
}

const OVERVIEW = /^.*interlock.*\n[\s\S]*tasks submit/;
const WORKER = /--max-concurrent/;

describe('which program it is', () => {
  it.each<[string, () => ReturnType<typeof run>, RegExp]>([
    ['the file as it is downloaded', () => run(executable, ['--help']), WORKER],
    ['a link interlock-worker', () => run(link('interlock-worker'), ['--help']), WORKER],
    ['a link interlock', () => run(link('interlock'), ['--help']), OVERVIEW],
    ['interlock without a word', () => run(link('interlock'), []), OVERVIEW],
    ['a hard link', () => run(hard('b/interlock'), ['--help']), OVERVIEW],
    ['exec -a interlock', () => run(executable, ['--help'], { argv0: 'interlock' }), OVERVIEW],
    ['any other name', () => run(link('garage'), ['--help']), OVERVIEW],
    ['a first word interlock', () => run(executable, ['interlock', '--help']), OVERVIEW],
    ['a first word interlock alone', () => run(executable, ['interlock']), OVERVIEW],
    [
      'a first word interlock-worker',
      () => run(link('garage'), ['interlock-worker', '--help']),
      WORKER,
    ],
    ['interlock worker', () => run(link('interlock'), ['worker', '--help']), WORKER],
    ['a command behind the worker', () => run(executable, ['tasks', '--help']), /tasks submit/],
  ])('%s', (_, ran, shows) => {
    const { out, code, err } = ran();
    expect(out, err).toMatch(shows);
    expect(code).toBe(0);
  });

  it('tells its version under each name', () => {
    for (const name of ['interlock', 'interlock-worker', 'garage'])
      for (const flag of ['--version', '-v'])
        expect(run(link(name), [flag])).toMatchObject({ out: `${VERSION}\n`, code: 0 });
    expect(run(executable, ['interlock', '--version']).out).toBe(`${VERSION}\n`);
    expect(run(executable, ['interlock-worker', '-v']).out).toBe(`${VERSION}\n`);
  });

  function hard(name: string): string {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    linkSync(executable, file);
    return file;
  }
});

describe('the name in texts that are copied', () => {
  const told = (err: string) => / makes keys: (.*) keys new/.exec(err)?.[1];
  const list = ['tasks', 'list', '--url', 'http://127.0.0.1:1'];

  it('is that which was typed: a name on the PATH, a relative path, a link and not its target', () => {
    const path = `${folder}:/usr/bin:/bin`;
    link('interlock');
    link('chain/one', link('garage'));
    expect(told(run('interlock', list, { path }).err)).toBe('interlock');
    expect(told(run('garage', list, { path }).err)).toBe('garage');
    expect(told(run('./interlock', list).err)).toBe('./interlock');
    expect(told(run('chain/one', list).err)).toBe('chain/one');
    expect(told(run('../garage', list, { cwd: join(folder, 'chain') }).err)).toBe('../garage');
    expect(told(run(join(folder, 'interlock'), list).err)).toBe(join(folder, 'interlock'));
  });

  it('is quoted where a shell needs that', () => {
    const file = link("it's a garage #1 %41 ü/interlock");
    const typed = told(run(file, list).err) ?? '';
    expect(execFileSync('/bin/sh', ['-c', `${typed} --version`], { encoding: 'utf8' })).toBe(
      `${VERSION}\n`,
    );
  });

  it('is the path of the file where what was typed leads elsewhere', () => {
    expect(told(run(executable, list, { argv0: 'not-on-the-path' }).err)).toBe(executable);
  });
});
