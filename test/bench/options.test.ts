import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { HELP, ROWS, readOptions, remarks, UsageError } from '../../bench/options.ts';

it('has a page of help that names every row', () => {
  for (const flag of ['-h', '--help']) expect(readOptions([flag])).toBe('help');
  for (const name of Object.values(ROWS).flat())
    expect(HELP.replace(/,\s+/g, ', ')).toContain(name);
  for (const line of HELP.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
});

it('chooses rows by a word in any case, and all without one', () => {
  expect(readOptions(['--only', 'Drain'])).toMatchObject({
    chosen: ['drain 1', 'drain 16', 'drain shared 16', 'drain sdk 16'],
  });
  expect(readOptions(['--only=sdk'])).toMatchObject({ chosen: ['drain sdk 16'] });
  expect(readOptions([])).toMatchObject({ kind: 'project', chosen: ROWS.project, quick: false });
  expect(readOptions(['--compare', '--only', 'bulk'])).toMatchObject({ chosen: ['enqueue bulk'] });
});

it.each([
  [['--onli', 'drain'], /no option --onli\. Did you mean --only\?/],
  [['--only'], /--only needs a value: --only drain/],
  [['--only', '--quick'], /--only needs a value/],
  [['--quick=1'], /--quick takes no value/],
  [['spool'], /"spool" is no option\. Did you mean --only spool\?/],
  [['--only', 'sspool'], /No row has "sspool".+ Did you mean spool\?/],
  [['--compare', '--only', 'streams'], /No row has "streams".+with --compare: drain 16/],
  [['--only', 'a', '--only', 'b'], /--only is given more than once/],
  [['--compare', '--binary', process.execPath], /two different benches/],
  [['--json', '/nonexistent/x.json'], /cannot be written: there is no folder/],
  [['--json', tmpdir()], /cannot be written: it is no file/],
  [['--binary', '/nonexistent'], /does not exist\. npm run binary makes one/],
])('refuses %j before it measures, and says what next', (argv, words) => {
  expect(() => readOptions(argv)).toThrow(UsageError);
  expect(() => readOptions(argv)).toThrow(words);
});

it('takes a file that can be written and an executable', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-options-'));
  try {
    const json = join(folder, 'rows.json');
    expect(readOptions(['--json', json, '--binary', process.execPath])).toMatchObject({
      ...{ json, binary: process.execPath, kind: 'executable' },
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('says below the table what the figures are worth', () => {
  const said = (argv: string[], load: number) => {
    const options = readOptions(argv);
    if (options === 'help') throw new Error('no options');
    return remarks(options, { load, cores: 2 }).map((line) => line.split(' ', 4).join(' '));
  };
  expect(said([], 2)).toEqual([]);
  expect(said(['--quick', '--only', 'drain'], 3)).toEqual([
    'A quick run: few',
    'The machine was busy',
    'Left out: the raw',
  ]);
});
