/** Runs tests on a copy of the tree that has a mutation in it. */
import { execFileSync, spawn } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { patched } from './patched.mjs';

/** A run of tests that hangs is red as well, but not for ever. */
const RUN_MS = 10 * 60_000;

/** What git knows or would take, as it is now, with the packages beside it. */
export function copyOfTheTree(root) {
  const folder = mkdtempSync(join(tmpdir(), 'interlock-mutations-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const files = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1_048_576 },
  );
  for (const file of new Set(files.split('\0').filter(Boolean))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    try {
      cpSync(join(root, file), join(folder, file), { verbatimSymlinks: true });
    } catch (cause) {
      if (cause.code !== 'ENOENT') throw cause; // Removed, but not yet for git.
    }
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  return folder;
}

/** Runs its tests in the copy with the mutation, and takes it out again. */
export async function testMutation(copy, mutation, children) {
  const path = join(copy, mutation.file);
  const original = readFileSync(path, 'utf8');
  writeFileSync(path, patched(mutation, original));
  try {
    return await runTests(copy, mutation.tests, children);
  } finally {
    writeFileSync(path, original);
  }
}

/**
 * Red is any failure: of a test, of a file that does not load, or no end in time. A test that fails once and then
 * passes proves nothing, so each has a second try.
 */
export async function runTests(copy, tests, children) {
  const report = join(copy, 'mutation-report.json');
  rmSync(report, { force: true });
  const args = [
    join(copy, 'node_modules/vitest/vitest.mjs'),
    'run',
    ...tests,
    '--retry=1',
    '--bail=1',
    '--maxWorkers=1',
    '--reporter=json',
    `--outputFile=${report}`,
  ];
  const child = spawn(process.execPath, args, {
    cwd: copy,
    stdio: ['ignore', 'ignore', 'pipe'],
    // A group of its own, so that what the tests started goes with them.
    detached: process.platform !== 'win32',
    env: { ...process.env, NO_COLOR: '1' },
  });
  children.add(child);
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    words = (words + text).slice(-2_000);
  });
  const timer = setTimeout(() => endGroup(child), RUN_MS);
  const code = await new Promise((resolve) => child.on('close', resolve));
  clearTimeout(timer);
  children.delete(child);
  const failed = failures(copy, report);
  if (code !== 0 && failed.length === 0)
    failed.push(words.trim().split('\n').at(-1) || `exit code ${code}`);
  return { green: code === 0, failed };
}

export function endGroup(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  try {
    if (process.platform === 'win32') child.kill();
    else process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL'); // It leads no group.
  }
}

function failures(copy, report) {
  let results;
  try {
    results = JSON.parse(readFileSync(report, 'utf8')).testResults;
  } catch {
    return [];
  }
  const failed = results.flatMap(({ name, status, assertionResults }) => {
    const file = relative(copy, name);
    const tests = assertionResults
      .filter((test) => test.status === 'failed')
      .map((test) => `${file}: ${test.fullName}`);
    return tests.length === 0 && status === 'failed' ? [file] : tests;
  });
  // A file without a failed test was cut short by the first failure, or does not load.
  return failed.sort((a, b) => Number(b.includes(': ')) - Number(a.includes(': ')));
}
