import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { codeFolder } from '../../src/cli/code-folder.ts';
import { temporaryFolder } from './world.ts';

const session = (digit: string) => `ses_${digit.repeat(32)}`;
const kept = (digit: string) => `${digit.repeat(64)}.json`;

let spool: string;
beforeEach(() => {
  spool = temporaryFolder();
});

function write(...parts: string[]): string {
  const file = join(spool, ...parts);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, 'x');
  return file;
}

/** Every file below a folder, by its path in it. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name).slice(folder.length + 1))
    .sort();
}

describe('the folder of kept code', () => {
  it('loses what other sessions have written, unfinished files too, and keeps its own', async () => {
    write('code', session('a'), kept('1'));
    write('code', session('a'), `${kept('2')}.4711`);
    write('code', session('b'), kept('1'));
    await codeFolder(spool, session('b')).sweepOthers();
    expect(readdirSync(join(spool, 'code'))).toEqual([session('b')]);
    expect(filesIn(spool)).toEqual([join('code', session('b'), kept('1'))]);
  });

  it('keeps whatever no worker has named so: a project, a session of other form, what lies in a session', async () => {
    const others = [
      write('code', 'proj', 'main.py'),
      write('code', 'main.py'),
      write('code', 'ses_1', kept('1')),
      write('code', `${session('a')}0`, kept('1')),
      write('code', session('a'), 'notes.txt'),
      write('code', session('a'), 'deep', kept('1')),
    ];
    write('code', session('a'), kept('1'));
    const code = codeFolder(spool, session('b'));
    await code.sweepOthers();
    await code.sweep(new Set());
    await code.remove();
    expect(filesIn(spool)).toEqual(others.map((file) => file.slice(spool.length + 1)).sort());
  });

  it('loses of its own session what nobody uses, then all', async () => {
    for (const digit of ['1', '2']) write('code', session('a'), kept(digit));
    const code = codeFolder(spool, session('a'));
    await code.sweep(new Set(['1'.repeat(64)]));
    expect(readdirSync(code.folder)).toEqual([kept('1')]);
    await code.remove();
    expect(existsSync(code.folder)).toBe(false);
  });

  it.skipIf(process.platform === 'win32').each(['code', join('code', session('a'))])(
    'removes nothing through a link that is its %s',
    async (part) => {
      const elsewhere = temporaryFolder();
      const inIt = part === 'code' ? join(session('a'), kept('1')) : kept('1');
      mkdirSync(dirname(join(elsewhere, inIt)), { recursive: true });
      writeFileSync(join(elsewhere, inIt), 'mine');
      mkdirSync(dirname(join(spool, part)), { recursive: true });
      symlinkSync(elsewhere, join(spool, part));
      await codeFolder(spool, session('b')).sweepOthers();
      await codeFolder(spool, session('a')).sweep(new Set());
      await codeFolder(spool, session('a')).remove();
      expect(filesIn(elsewhere)).toEqual([inIt]);
    },
  );
});
