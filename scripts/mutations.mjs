/**
 * Plants bugs that must never slip through, one at a time, into a copy of the tree and runs the tests there:
 * each has to turn them red. `npm run mutations`; `-- --full` runs all of `npm test` for each (slow) instead
 * of the tests named with it; `-- --only=fence` takes those whose name holds the word. A new one is one entry
 * in the list.
 */
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
import { fileURLToPath } from 'node:url';

/** `find` must stand exactly once in `file`: a list that no longer fits the code is an error, not a pass. */
const mutations = [
  {
    name: 'the folder of the spool is not fsynced',
    file: 'src/worker/spool/durable-folder.ts',
    find: 'this.#disk.syncFolder(this.#folder).finally(',
    replace: 'Promise.resolve().finally(',
    tests: ['test/spool'],
  },
  {
    name: 'fsync of a folder does nothing',
    file: 'src/system/disk.ts',
    find: '    await handle.sync();\n',
    replace: '',
    tests: ['test/system/disk'],
  },
  {
    name: 'a report is sent before it is spooled (machine)',
    file: 'src/core/attempt-steps.ts',
    find: "[{ do: 'write-report', report }]",
    replace: "[{ do: 'send-report', report }, { do: 'write-report', report }]",
    tests: ['test/core/attempt'],
  },
  {
    name: 'a report is sent before it is spooled (worker)',
    file: 'src/worker/on-disk.ts',
    find: "        held.record = await spool.writeReport(report, this.#meta(held));\n        this.#attempts.feed(held, { kind: 'report-written' });\n",
    replace:
      "        const writing = spool.writeReport(report, this.#meta(held));\n        this.#attempts.feed(held, { kind: 'report-written' });\n        held.record = await writing;\n",
    tests: ['test/worker/report-order'],
  },
  {
    name: 'the fence is not compared',
    file: 'src/core/task-report.ts',
    find: 'report.fence !== attempt.fence || ',
    replace: '',
    tests: ['test/core/task'],
  },
  {
    name: 'leases are renewed only between handlers',
    file: 'src/worker/renew-loop.ts',
    find: 'this.#attempts.toRenew().filter((held) => held.renewAt <= now + slack(held))',
    replace:
      "this.#attempts.toRenew().filter((held) => held.state.phase !== 'running' && held.renewAt <= now + slack(held))",
    tests: ['test/e2e/load'],
  },
  {
    name: 'a drain does not stop the claim loop',
    file: 'src/worker/claim-loop.ts',
    find: 'return this.#ctx.draining || this.#ctx.stopped;',
    replace: 'return this.#ctx.stopped;',
    tests: ['test/e2e/drain'],
  },
];

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const full = process.argv.includes('--full');
const only = process.argv.find((arg) => arg.startsWith('--only='))?.slice('--only='.length);
const chosen = mutations.filter(({ name }) => only === undefined || name.includes(only));
/** A run of tests that hangs is red as well, but not for ever. */
const RUN_MS = 20 * 60_000;

if (chosen.length === 0) fail(`No mutation has "${only}" in its name.`);
const copy = copyOfTheTree();
let endTests = () => {};
process.on('exit', () => {
  endTests();
  rmSync(copy, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

for (const mutation of chosen) patched(mutation); // All of them fit, before the first test runs.

say('The tests without any mutation …');
const baseline = await runTests([...new Set(chosen.flatMap(({ tests }) => tests))]);
if (!baseline.green) {
  fail(
    `They are red already, so a mutation would prove nothing:\n  ${baseline.failed.join('\n  ')}`,
  );
}

const rows = [];
for (const mutation of chosen) {
  say(`Mutation: ${mutation.name} …`);
  const path = join(copy, mutation.file);
  const original = readFileSync(path, 'utf8');
  writeFileSync(path, patched(mutation));
  const started = Date.now();
  const { green, failed } = await runTests(mutation.tests);
  writeFileSync(path, original);
  rows.push([
    green ? 'SURVIVED' : 'caught',
    mutation.name,
    `${Math.round((Date.now() - started) / 1000)} s`,
    failed.length > 1 ? `${failed[0]} (and ${failed.length - 1} more)` : (failed[0] ?? ''),
  ]);
}

const widths = [0, 1, 2].map((i) => Math.max(...rows.map((row) => row[i].length)));
say('');
for (const row of rows) say(row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '));
const survived = rows.filter(([verdict]) => verdict === 'SURVIVED').length;
say(`\n${rows.length - survived} caught, ${survived} survived.`);
process.exitCode = survived > 0 ? 1 : 0;

/** What git knows or would take, as it is now, with the packages beside it. */
function copyOfTheTree() {
  const folder = mkdtempSync(join(tmpdir(), 'interlock-mutations-'));
  const files = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 64 * 1_048_576,
    },
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

function patched({ name, file, find, replace }) {
  const text = readFileSync(join(copy, file), 'utf8');
  const times = text.split(find).length - 1;
  if (times !== 1)
    fail(
      `"${name}" does not fit: its text stands ${times} times in ${file}. Mend the entry in scripts/mutations.mjs.`,
    );
  return text.replace(find, () => replace);
}

/**
 * Runs `npm test` in the copy. Red is any failure: of a test, of the build, or no end in time. A test that fails
 * once and then passes proves nothing, so each has a second try.
 */
async function runTests(tests) {
  const report = join(copy, 'mutation-report.json');
  rmSync(report, { force: true });
  const args = [
    'test',
    '--',
    ...(full ? [] : tests),
    '--retry=1',
    '--reporter=json',
    `--outputFile=${report}`,
  ];
  const child = spawn('npm', args, {
    cwd: copy,
    stdio: ['ignore', 'ignore', 'pipe'],
    // A group of its own, so that what the tests started goes with them.
    detached: process.platform !== 'win32',
    shell: process.platform === 'win32',
    env: { ...process.env, NO_COLOR: '1' },
  });
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    words = (words + text).slice(-2_000);
  });
  endTests = () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    if (process.platform === 'win32') child.kill();
    else process.kill(-child.pid, 'SIGKILL');
  };
  const timer = setTimeout(endTests, RUN_MS);
  const code = await new Promise((resolve) => child.on('close', resolve));
  clearTimeout(timer);
  const failed = failures(report);
  if (code !== 0 && failed.length === 0)
    failed.push(words.trim().split('\n').at(-1) || `exit code ${code}`);
  return { green: code === 0, failed };
}

function failures(report) {
  let results;
  try {
    results = JSON.parse(readFileSync(report, 'utf8')).testResults;
  } catch {
    return [];
  }
  return results.flatMap(({ name, status, assertionResults }) => {
    const file = relative(copy, name);
    const tests = assertionResults
      .filter((test) => test.status === 'failed')
      .map((test) => `${file}: ${test.fullName}`);
    return tests.length === 0 && status === 'failed' ? [file] : tests;
  });
}

function say(line) {
  process.stdout.write(`${line}\n`);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
