import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { errorsPage } from '../../scripts/docs.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');

it('docs/errors.md is what the tables of codes say: else run `npm run docs`', () => {
  expect(page).toBe(errorsPage());
});

it('docs/errors.md has every code that the sources throw', () => {
  const src = join(root, 'src');
  const thrown = new Set<string>();
  for (const file of readdirSync(src, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue;
    const text = readFileSync(join(src, file), 'utf8');
    const said = text.matchAll(/\b(?:TaskError|spoolError|outboxError)\(\s*'([A-Z][A-Z0-9_]+)'/g);
    for (const [, code = ''] of said) thrown.add(code);
  }
  // A bug of ours, never met by users.
  thrown.delete('SPOOL_CLOSED');
  const missing = [...thrown].filter((code) => !new RegExp(`\\b${code}\\b`).test(page));
  expect(missing).toEqual([]);
  expect(thrown.size).toBeGreaterThan(40);
});
