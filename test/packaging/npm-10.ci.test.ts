import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';

const root = dirname(dirname(import.meta.dirname));
const run = promisify(execFile);
const clone = mkdtempSync(join(tmpdir(), 'interlock-npm-10-'));
afterAll(() => rmSync(clone, { recursive: true, force: true }));

it('runs npm scripts on the pinned Node after `npm ci` by npm 10, which loses its link', async () => {
  for (const file of ['package.json', 'package-lock.json', '.npmrc', 'scripts']) {
    cpSync(join(root, file), join(clone, file), { recursive: true });
  }
  const npm10 = (...args: string[]) => run('npx', ['--yes', 'npm@10', ...args], { cwd: clone });
  // The build needs the sources; the link is what is tried here.
  await npm10('ci', '--ignore-scripts');
  await run(process.execPath, [join(clone, 'scripts/link-runtime.mjs')]);
  const link = join(clone, 'node_modules/.bin/node');
  expect(existsSync(link)).toBe(true);
  expect(realpathSync(link).startsWith(join(realpathSync(clone), 'node_modules'))).toBe(true);
  const { stdout } = await run(link, ['-p', 'process.version']);
  expect(stdout.trim()).toBe(process.version);
}, 240_000);
