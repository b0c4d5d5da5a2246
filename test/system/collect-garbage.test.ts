import { getHeapCodeStatistics, getHeapSpaceStatistics } from 'node:v8';
import { expect, it } from 'vitest';
import { collectGarbage } from '../../src/system/collect-garbage.ts';

const young = () =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;

it('gives back the space for young objects, on the Node that runs this', () => {
  let last: unknown[] = [];
  for (let i = 0; i < 400; i++)
    last = Array.from({ length: 5_000 }, (_, n) => ({ n, last: n % 50 ? null : last[n] }));
  const grown = young();
  last = [];
  collectGarbage();
  expect(young()).toBeLessThan(grown / 2);
  expect('gc' in globalThis).toBe(false);
});

it('gives back code that does not run', () => {
  const code = () => getHeapCodeStatistics().bytecode_and_metadata_size;
  const lines = Array.from({ length: 5_000 }, (_, n) => `  sum = sum * ${n} + text.length;`);
  const long = new Function('text', `let sum = 0;\n${lines.join('\n')}\nreturn sum;`);
  long('');
  const before = code();
  collectGarbage();
  expect(before - code()).toBeGreaterThan(20_000);
  expect(long('')).toBe(0);
});
