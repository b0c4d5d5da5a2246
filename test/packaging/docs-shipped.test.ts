import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';

const root = dirname(dirname(import.meta.dirname));
const { files }: { files: string[] } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** What npm puts into a tarball: what is named, and two files of its own. */
const shipped = [...files, 'README.md', 'LICENSE'];
const isShipped = (file: string) =>
  shipped.some((one) => file === one || file.startsWith(`${one}/`));

/** Pages for people in the tarball. */
function pages(): string[] {
  return shipped.flatMap((one) => {
    if (one === 'dist' || !statSync(join(root, one)).isDirectory())
      return one.endsWith('.md') ? [one] : [];
    return readdirSync(join(root, one), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(one, name));
  });
}

/** As a heading is addressed. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

it('ships the pages that its README points to, and each link in them leads somewhere in the package', () => {
  expect(pages()).toEqual(expect.arrayContaining(['README.md', 'docs/handlers.md']));
  const broken: string[] = [];
  for (const page of pages()) {
    const text = readFileSync(join(root, page), 'utf8');
    for (const [, target = '', part] of text.matchAll(/\]\(([^)#\s]*)(?:#([^)\s]+))?\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const file = target === '' ? page : relative(root, join(root, dirname(page), target));
      if (!isShipped(file) || !existsSync(join(root, file))) {
        broken.push(`${page} → ${target}`);
        continue;
      }
      if (part === undefined || !file.endsWith('.md')) continue;
      const headings = readFileSync(join(root, file), 'utf8').matchAll(/^#+ (.+)$/gm);
      if (![...headings].some(([, heading = '']) => anchor(heading) === part))
        broken.push(`${page} → ${target}#${part}`);
    }
  }
  expect(broken).toEqual([]);
});
