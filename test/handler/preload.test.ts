import { expect, it } from 'vitest';
import { importsIn, wordsOf } from '../../src/handler/preload.ts';

it('reads NODE_OPTIONS as Node.js does: blanks part words, double quotes keep them together', () => {
  expect(wordsOf(undefined)).toEqual([]);
  expect(wordsOf('  --a   --b=c ')).toEqual(['--a', '--b=c']);
  expect(wordsOf('--import "./a b.mjs" --title="x \\"y\\"" --c')).toEqual([
    '--import',
    './a b.mjs',
    '--title=x "y"',
    '--c',
  ]);
});

it('finds the modules to import, in both of their forms', () => {
  expect(importsIn(['--import', './a.mjs', '-r', './b.cjs', '--import=c', '--import'])).toEqual([
    './a.mjs',
    'c',
  ]);
});
