import { expect, it } from 'vitest';
import { readNodeWords } from '../../src/cli/as-node-words.ts';

const read = (...argv: string[]) =>
  readNodeWords(argv, { allowed: process.allowedNodeEnvironmentFlags, terminal: false });

it('ends the options of Node at the script, at -- and at -', () => {
  expect(read('a.js', '-e', '1')).toMatchObject({ does: 'script', rest: ['a.js', '-e', '1'] });
  expect(read('--', '-e')).toMatchObject({ does: 'script', rest: ['-e'] });
  expect(read('-', '-e')).toMatchObject({ does: 'stdin', rest: ['-', '-e'] });
  expect(read('--')).toMatchObject({ does: 'stdin', rest: [] });
});

it('keeps apart what only a start can take, with its value', () => {
  expect(read('-r', './x.cjs', '--conditions=a', '-e', '1', 'b')).toMatchObject({
    options: ['-r', './x.cjs', '--conditions=a'],
    kept: ['-e', '1', 'b'],
    does: { code: '1' },
    rest: ['b'],
  });
  expect(read('--no-warnings', '--disable-warning=ExperimentalWarning', 'a.js')).toMatchObject({
    options: ['--no-warnings'],
    kept: ['a.js'],
  });
});

it('takes -p with a text, with another option, and alone', () => {
  expect(read('-p', '1', 'a').does).toMatchObject({ code: '1', print: true });
  expect(read('-p', '-e', '2').does).toMatchObject({ code: '2', print: true });
  expect(read('-p')).toMatchObject({ does: 'stdin' });
});

it('refuses what it does not know, and an option without its value', () => {
  expect(read('--nonsense', 'a.js').refused).toContain('--nonsense');
  expect(read('--test').refused).toContain('--test');
  expect(read('-e').refused).toBe('-e requires an argument.');
  expect(read('--require').refused).toBe('--require requires an argument.');
});
