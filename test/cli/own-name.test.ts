import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withTyped } from '../../src/cli/agent-log.ts';
import { asTyped, ownName } from '../../src/cli/own-name.ts';
import { filePrograms } from '../../src/cli/programs.ts';
import { interlock } from './run.ts';
import { temporaryFolder } from './world.ts';

/** A package with its programs, in a folder of that name. */
function installed(name = 'package') {
  const folder = temporaryFolder();
  const root = join(folder, name);
  for (const part of ['bin', 'dist', 'path', 'node_modules/.bin'])
    mkdirSync(join(root, part), { recursive: true });
  writeFileSync(join(root, 'bin', 'interlock'), '');
  const link = (where: string) => {
    symlinkSync(join(root, 'bin', 'interlock'), join(root, where, 'interlock'));
    return join(root, where);
  };
  return { folder, root, programs: filePrograms(join(root, 'dist')), link };
}

describe('the name of this program', () => {
  it('is its path from a folder above, and the whole one from elsewhere', () => {
    const { folder, root, programs } = installed();
    const name = (cwd: string) => ownName({ env: { PATH: '/usr/bin:' }, cwd, programs });
    expect(name(root)).toBe('./bin/interlock');
    expect(name(folder)).toBe('./package/bin/interlock');
    expect(name('/')).toBe(`./${root.slice(1)}/bin/interlock`);
    expect(name(join(root, 'dist'))).toBe(`${root}/bin/interlock`);
  });

  it('is the plain word only where the PATH leads to this very program', () => {
    const mine = installed();
    const other = installed();
    const name = (...path: string[]) =>
      ownName({ env: { PATH: path.join(':') }, cwd: mine.root, programs: mine.programs });
    const [own, foreign] = [mine.link('path'), other.link('path')];
    expect(name('/nowhere', own, foreign)).toBe('interlock');
    expect(name(foreign, own)).toBe('./bin/interlock');
    expect(name(mine.link('node_modules/.bin'))).toBe('npx interlock');
  });

  it('can be copied into a shell where the path has blanks and quotes', () => {
    const { folder, programs } = installed("it's here");
    expect(ownName({ env: {}, cwd: folder, programs })).toBe(`'./it'\\''s here/bin/interlock'`);
  });

  it('takes the place of the word in commands, and nowhere else', () => {
    const { root, programs } = installed();
    const text =
      'Use interlock keys new, or ./bin/interlock tasks list; interlock is a bug, `interlock dev`.';
    expect(asTyped(text, { env: {}, cwd: root, programs })).toBe(
      'Use ./bin/interlock keys new, or ./bin/interlock tasks list; interlock is a bug, `./bin/interlock dev`.',
    );
  });

  it('stands in the log of an agent too', () => {
    const { root, programs } = installed();
    const lines: string[] = [];
    const line = (_: string, text: string) => void lines.push(text);
    const log = { debug: line, info: line, warn: line, error: line };
    const typed = withTyped(log, { env: {}, cwd: root, programs });
    typed.warn('attempt.over', 'has failed. Why: interlock tasks show tsk_1');
    expect(lines).toEqual(['has failed. Why: ./bin/interlock tasks show tsk_1']);
  });
});

it('stands in the next step of an error for a person, not in JSON', async () => {
  const cwd = join(import.meta.dirname, '../..');
  const argv = ['tasks', 'list'];
  const url = { INTERLOCK_URL: 'http://127.0.0.1:1' };
  const given = { cwd: temporaryFolder(), programs: filePrograms(join(cwd, 'dist')), env: url };
  expect((await interlock(argv, given)).err).toContain(
    `An admin makes keys: ${join(cwd, 'bin/interlock')} keys new`,
  );
  expect((await interlock([...argv, '--json'], given)).err).toContain(
    'An admin makes keys: interlock keys new',
  );
});
