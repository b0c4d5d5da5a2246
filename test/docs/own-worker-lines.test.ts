import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { firstWorkerRows } from './first-worker-rows.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const PAGE = readFileSync(join(ROOT, 'docs/write-your-own-worker.md'), 'utf8');

it('the page tells how many lines the worker in Python has', () => {
  const rows = [...PAGE.matchAll(/^\| `(\w+\.py)` \| (\d+) \|/gm)];
  expect(rows.length).toBe(7);
  for (const [, file = '', lines] of rows) {
    expect(`${file} ${lines}`).toBe(`${file} ${lineCount(file)}`);
  }
});

it('the first worker in Python has at most 110 lines, as the page says', () => {
  const [, lines] = /`first_worker\.py`\]\(\S+\) \((\d+) lines\)/.exec(PAGE) ?? [];
  expect(Number(lines)).toBe(lineCount('first_worker.py'));
  expect(Number(lines)).toBeLessThanOrEqual(110);
});

it('the page adds up what the first worker in Python passes', () => {
  const rows = firstWorkerRows(PAGE);
  const sum = (of: 'passed' | 'total') => rows.reduce((all, row) => all + row[of], 0);
  expect(PAGE).toContain(`passes ${sum('passed')} of ${sum('total')}`);
  for (const { group, passed, total, cases } of rows) {
    expect(`${group} ${passed}`).toBe(`${group} ${total - cases.length}`);
  }
});

/** Without blank lines, comments and docstrings. */
function lineCount(file: string): number {
  const text = readFileSync(join(ROOT, 'samples/python-worker', file), 'utf8');
  const code = text.replaceAll(/^ *""".*?"""$/gms, '').split('\n');
  return code.filter((line) => !/^ *(#|$)/.test(line)).length;
}
