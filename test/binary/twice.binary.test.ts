/** Two builds of the same sources, wherever and by whomever, are the same files. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { ROOT } from '../e2e/processes.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

let folder: string;
beforeAll(() => {
  mkdirSync(join(ROOT, 'build'), { recursive: true });
  // On the same disk as the packages: links to them cost nothing.
  folder = mkdtempSync(join(ROOT, 'build/twice-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function copyTo(name: string): string {
  const tree = join(folder, name);
  const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', listed, { cwd: ROOT, encoding: 'utf8' }).split('\0');
  for (const file of files.filter((one) => one && existsSync(join(ROOT, one)))) {
    mkdirSync(dirname(join(tree, file)), { recursive: true });
    cpSync(join(ROOT, file), join(tree, file));
  }
  execFileSync('cp', ['-al', join(ROOT, 'node_modules'), join(tree, 'node_modules')]);
  mkdirSync(join(tree, 'build'), { recursive: true });
  if (existsSync(join(ROOT, 'build/runtimes')))
    execFileSync('cp', ['-al', join(ROOT, 'build/runtimes'), join(tree, 'build')]);
  return tree;
}

function build(tree: string, umask: string, env: Record<string, string>): string {
  const args = ['linux-x64', 'linux-arm64', 'win-x64'].flatMap((name) => ['--target', name]);
  const { PATH = '', HOME = '' } = process.env;
  const words = `umask ${umask}; exec "$@"`;
  const program = [process.execPath, 'scripts/binary/build.mjs', ...args, '--out', 'out'];
  execFileSync('sh', ['-c', words, 'sh', ...program], { cwd: tree, env: { PATH, HOME, ...env } });
  return readFileSync(join(tree, 'out/SHA256SUMS'), 'utf8');
}

it('builds the same bytes in another folder, at another time, in another language and under another umask', ({
  skip,
}) => {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return skip('linux-x64 is compared where it is built');
  const first = build(copyTo('a'), '022', { LC_ALL: 'C', TZ: 'UTC' });
  const second = build(copyTo('an other tree #2'), '077', {
    LC_ALL: 'tr_TR.UTF-8',
    TZ: 'Asia/Tokyo',
    USER: 'somebody',
  });
  expect(second).toBe(first);
  expect(first.trim().split('\n').length).toBeGreaterThanOrEqual(6);
});
