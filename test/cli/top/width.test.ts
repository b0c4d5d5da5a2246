import { expect, it } from 'vitest';
import { cutTo, filled, widthOf, wrapped } from '../../../src/cli/top/width.ts';

it.each([
  ['abc', 3],
  ['漢字', 4],
  ['한글', 4],
  ['ｱ', 1],
  ['Ａ', 2],
  ['👍🏽', 2],
  ['👩‍👩‍👧‍👦', 2],
  ['🏳️‍🌈', 2],
  ['1️⃣', 2],
  ['e\u0301', 1],
  ['a\u200b', 1],
  ['\u200d', 0],
  ['שלום', 4],
])('%s takes %i columns', (text, columns) => {
  expect(widthOf(text)).toBe(columns);
});

it('cuts between letters, never within one, and says that it did', () => {
  expect(cutTo('abcdef', 6).text).toBe('abcdef');
  expect(cutTo('abcdef', 4)).toEqual({ text: 'abc…', width: 4 });
  // A wide letter does not fit into the one column that is left.
  expect(cutTo('漢字かな', 4)).toEqual({ text: '漢…', width: 3 });
  expect(cutTo('👩‍👩‍👧‍👦👍🏽x', 3)).toEqual({ text: '👩‍👩‍👧‍👦…', width: 3 });
  expect(cutTo('abc', 0)).toEqual({ text: '', width: 0 });
});

it('fills to exactly so many columns', () => {
  for (const text of ['', 'abc', '漢字かな交じり文', '👩‍👩‍👧‍👦'.repeat(9), 'x'.repeat(99)])
    for (const columns of [1, 2, 7, 20]) expect(widthOf(filled(text, columns))).toBe(columns);
  expect(filled('7 s', 6, 'right')).toBe('   7 s');
});

it('reads no more of a long text than it shows, and leaves no pile of marks', () => {
  const piled = `a${'\u0301'.repeat(100_000)}b`;
  expect(cutTo(piled, 10).text.length).toBeLessThan(20);
  expect(cutTo('x'.repeat(10_000_000), 5).text).toBe('xxxx…');
});

it('wraps without losing anything', () => {
  expect(wrapped('abcdef\n\nxy', 4)).toEqual(['abcd', 'ef', '', 'xy']);
  expect(wrapped('漢字かな', 3)).toEqual(['漢', '字', 'か', 'な']);
});

it('wraps behind a space where there is one, so that ids stay whole', () => {
  expect(wrapped('ab tsk_12', 7)).toEqual(['ab ', 'tsk_12']);
  expect(wrapped('  tsk_1234', 7)).toEqual(['  tsk_1', '234']);
  expect(wrapped('abc de', 3)).toEqual(['abc', ' de']);
});
