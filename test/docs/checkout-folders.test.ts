import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const text = (file: string) => readFileSync(join(root, file), 'utf8');

it('folders that the README has programs write into a checkout are kept out of git', () => {
  const named = [...text('README.md').matchAll(/--(?:data|spool|outbox) \.\/([\w-]+)/g)];
  const folders = [...new Set(named.map(([, folder]) => folder))];
  expect(folders).toEqual(expect.arrayContaining(['data', 'spool']));
  const ignored = text('.gitignore').split('\n');
  for (const folder of folders)
    expect(
      ignored.some((line) => line === `/${folder}/` || line === `/${folder}/*`),
      `.gitignore has /${folder}/`,
    ).toBe(true);
});
