import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const FILE = join(import.meta.dirname, '../../src/cli/small-heap.ts');

/** Bytes of the heap's part for new objects, after many of them. */
function newSpace(before: string): number {
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8';
    ${before}
    let last = [];
    for (let i = 0; i < 400; i++) last = Array.from({ length: 5_000 }, (_, n) => ({ n, last: n % 50 ? null : last[n] }));
    console.log(getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size);
  `;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

it('keeps the part of the heap for new objects small, on the Node that runs this', () => {
  const small = newSpace(`(await import(${JSON.stringify(FILE)})).keepHeapSmall();`);
  expect(small).toBeGreaterThan(0);
  expect(small).toBeLessThanOrEqual(4 * 1_048_576);
  expect(newSpace('')).toBeGreaterThan(2 * small);
});
