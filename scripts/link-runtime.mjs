/**
 * Makes sure that `node_modules/.bin/node` is the pinned Node.js, so that npm scripts run on it. npm 11 links
 * it; npm 10, which comes with Node.js 20 and 22, removes the link again while it drops the packages of
 * the other platforms, since all of them bring a command of that name.
 */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');
const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const runtime = Object.keys(optionalDependencies).find((name) => existsSync(join(modules, name)));
const link = join(modules, '.bin', process.platform === 'win32' ? 'node.cmd' : 'node');

if (runtime === undefined) {
  // Not fatal: the commands in bin/ look further, and say so if nothing fits.
  console.error('link-runtime: no Node.js is pinned for this platform, npm scripts run on yours.');
} else if (!existsSync(link)) {
  mkdirSync(dirname(link), { recursive: true });
  if (process.platform === 'win32') {
    writeFileSync(link, `@"%~dp0..\\${runtime}\\bin\\node.exe" %*\r\n`);
  } else {
    symlinkSync(join('..', runtime, 'bin', 'node'), link);
  }
}
