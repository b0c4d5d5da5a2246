/**
 * Schemathesis against the OpenAPI document that the control plane serves, with every kind of key: examples, coverage,
 * fuzzing, and stories along the links. `--help` says how. Needs: python3 with venv (on Debian: python3-venv), and pip's
 * own registry for what requirements.txt pins by hash.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  createWriteStream,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../../..');
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    store: { type: 'string', multiple: true, default: ['sqlite', 'memory'] },
    phases: { type: 'string', default: 'examples,coverage,fuzzing,stateful' },
    long: { type: 'boolean', default: false },
    python: { type: 'string', default: 'python3' },
    reports: { type: 'string' },
    counts: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

/** `--long` tries so many times as much. */
const TIMES = values.long ? 10 : 1;
/** Cases of stories. A round of them ends early where an answer hangs on what earlier stories left behind. */
const STORY_CASES = 800 * TIMES;
const ROUNDS_MAX = 12 * TIMES;
/** Below this share of valid cases that were accepted, the rest of a case is hardly tried. */
const ACCEPTED_MIN = 0.9;
const ANSWER_MS = 20_000;

const children = new Set();
const folders = new Set();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

if (values.help) {
  say(`node test/conformance/schemathesis/run.mjs
  --store sqlite       one store; may be repeated [sqlite and memory, side by side]
  --phases a,b         examples, coverage, fuzzing, stateful [all]
  --seed N             the same seed brings the same cases [1]
  --long               ten times as many cases
  --reports DIR        leave the reports of the tool there
  --python PROGRAM     [python3]
  --counts FILE        leave there how many cases passed and how many things were found`);
} else process.exitCode = await main();

async function main() {
  await output(process.execPath, [join(root, 'scripts/build.mjs')]);
  const bin = await environment();
  const ends = await Promise.all(values.store.map((store) => onStore(bin, store)));
  const passed = ends.reduce((sum, end) => sum + end.passed, 0);
  const failed = ends.reduce((sum, end) => sum + end.failed, 0);
  for (const { found } of ends) for (const text of found) say(`\n✗ ${text}`);
  say(`\n${passed} cases passed, ${failed} found (seed ${values.seed})`);
  if (values.counts) writeFileSync(values.counts, JSON.stringify({ passed, failed }));
  return failed === 0 ? 0 : 1;
}

/** The folder of programs of a virtual environment that has what requirements.txt pins. */
async function environment() {
  const pins = join(here, 'requirements.txt');
  const version = await output(values.python, ['--version']);
  const name = createHash('sha256').update(version).update(readFileSync(pins)).digest('hex');
  const folder = join(root, 'node_modules/.cache/schemathesis', name.slice(0, 16));
  const bin = join(folder, 'bin');
  const ready = join(folder, 'ready');
  if (existsSync(ready)) return bin;
  rmSync(folder, { recursive: true, force: true });
  say(`Installing Schemathesis for ${version.trim()} …`);
  await output(values.python, ['-m', 'venv', folder]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
  await output(join(bin, 'python'), [...pip, '--require-hashes', '--requirement', pins]);
  writeFileSync(ready, '');
  return bin;
}

/** One control plane with this store, from its start to its end. */
async function onStore(bin, store) {
  const folder = mkdtempSync(join(tmpdir(), 'interlock-schemathesis-'));
  folders.add(folder);
  const plane = await startPlane(store, folder);
  const end = { passed: 0, failed: 0, found: [] };
  try {
    const base = `${plane.url}/api/tasks/v1`;
    const keys = await makeKeys(base, plane.adminKey);
    await checkDocument(bin, base, folder, end, store);
    const run = { bin, store, base, keys, folder, end };
    const phases = values.phases.split(',');
    const single = phases.filter((phase) => phase !== 'stateful');
    if (single.length > 0) accepted(run, await schemathesis(run, single.join(','), values.seed));
    if (phases.includes('stateful')) await stories(run);
    for (const [kind, { key }] of Object.entries(keys)) {
      const { status } = await call(base, key, 'GET', '/doctor');
      if (status === 401) found(end, `${store}: the key of kind ${kind} went during the run`);
    }
  } catch (error) {
    found(end, `${store}: ${error.message}${error.cause ? ` (${error.cause.message})` : ''}`);
  } finally {
    const code = await plane.stop();
    if (code !== 0) found(end, `${store}: the control plane ended with ${code}`);
    const failed = plane.failed();
    if (failed.length > 0) found(end, `${store}: its log has errors:\n${failed.join('\n')}`);
  }
  return end;
}

/** @param count of findings that the text tells. */
function found(end, text, count = 1) {
  end.failed += count;
  end.found.push(text);
}

/** Rounds of stories, each with a seed of its own, until there were enough. */
async function stories(run) {
  let cases = 0;
  for (let round = 0; round < ROUNDS_MAX && cases < STORY_CASES; round++) {
    const report = await schemathesis(run, 'stateful', String(Number(values.seed) + round));
    cases += report?.test_cases.generated ?? 0;
    if (run.end.failed > 0) return;
  }
  if (cases < STORY_CASES)
    found(run.end, `${run.store}: only ${cases} cases of stories in ${ROUNDS_MAX} rounds`);
}

/** One run of the tool. What it found goes to `end`. */
async function schemathesis({ bin, store, base, keys, folder, end }, phases, seed) {
  const name = `${store}-${phases.replaceAll(',', '-')}-${seed}`;
  const reports = resolve(values.reports ?? folder);
  const json = join(reports, `${name}.json`);
  const log = join(reports, `${name}.txt`);
  const config = join(folder, 'schemathesis.toml');
  writeFileSync(config, configuration());
  const args = ['--config-file', config, 'run', `${base}/openapi.json`, '--no-color'];
  const started = performance.now();
  const code = await program(
    join(bin, 'st'),
    [
      ...args,
      ...['--seed', seed, '--phases', phases, '--checks', 'all'],
      ...['--report', 'json', '--report-json-path', json],
    ],
    { log, cwd: folder, env: environmentOf(base, keys) },
  );
  const seconds = Math.round((performance.now() - started) / 1_000);
  const text = readFileSync(log, 'utf8');
  const again = `node test/conformance/schemathesis/run.mjs --store ${store} --phases ${phases} --seed ${seed}${values.long ? ' --long' : ''}`;
  if (!existsSync(json)) {
    found(end, `${store}: Schemathesis did not run (exit code ${code}):\n${text.slice(-3_000)}`);
    return undefined;
  }
  const report = JSON.parse(readFileSync(json, 'utf8'));
  const { generated, unique_failures: failures, errored, with_failures: bad } = report.test_cases;
  end.passed += generated - bad - errored;
  say(
    `${store}, ${phases}, seed ${seed}: ${generated} cases of ${report.operations.tested} calls, ${failures} found, ${seconds} s`,
  );
  if (code === 0 && failures === 0 && report.errors.length === 0) return report;
  const shown = text.slice(Math.max(0, text.search(/^=+ (?:FAILURES|ERRORS) =+$/m)));
  found(
    end,
    `${store}, ${phases}:\n${shown.slice(0, 60_000)}\nAgain: ${again}`,
    Math.max(1, failures + report.errors.length),
  );
  return report;
}

/** The numbers of cases stand in the configuration. */
function configuration() {
  const text = readFileSync(join(here, 'schemathesis.toml'), 'utf8');
  return text.replace(/(max-examples = )(\d+)/g, (_, name, count) => name + count * TIMES);
}

/** Valid cases have to be answered with more than 404 and 409: else little of the control plane was reached. */
function accepted({ store, end }, report) {
  let good = 0;
  let all = 0;
  for (const phases of Object.values(report?.valid_rates ?? {}))
    for (const { accepted, unreachable, conflicts, rejected } of Object.values(phases)) {
      good += accepted;
      all += accepted + unreachable + conflicts + rejected;
    }
  say(`${store}: ${good} of ${all} valid cases were accepted`);
  if (good < all * ACCEPTED_MIN)
    found(end, `${store}: only ${good} of ${all} valid cases were accepted`);
}

/** The document by itself, by another program's reading of OpenAPI. */
async function checkDocument(bin, base, folder, end, store) {
  const file = join(folder, 'openapi.json');
  const answer = await fetch(`${base}/openapi.json`, { signal: AbortSignal.timeout(ANSWER_MS) });
  writeFileSync(file, await answer.text());
  const log = join(folder, 'document.txt');
  const code = await program(join(bin, 'openapi-spec-validator'), [file], { log, cwd: folder });
  if (code === 0) end.passed++;
  else found(end, `${store}: the document is not valid:\n${readFileSync(log, 'utf8')}`);
}

async function startPlane(store, folder) {
  const args = ['control-plane', '--listen', '127.0.0.1:0', '--store', store, '--json'];
  if (store === 'sqlite') args.push('--data', join(folder, 'data'));
  const child = spawn(process.execPath, [join(root, 'dist/interlock.js'), ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  const exited = once(child, 'exit');
  const failed = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (line.includes('"level":"error"') && failed.length < 20) failed.push(line.slice(0, 2_000));
  });
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, 'line'), exited]);
  const { url, adminKey } = JSON.parse(String(first[0]));
  return {
    url,
    adminKey,
    failed: () => failed,
    async stop() {
      child.kill('SIGTERM');
      const [code] = await exited;
      children.delete(child);
      return code;
    },
  };
}

async function makeKeys(base, adminKey) {
  const made = { admin: { key: adminKey, id: '' } };
  const { body: all } = await call(base, adminKey, 'GET', '/keys');
  made.admin.id = all.keys?.[0]?.id ?? '';
  for (const kind of [
    'task-producer',
    'task-worker',
    'task-operator',
    'metrics',
    'inference',
    'sdk',
  ]) {
    const { body } = await call(base, adminKey, 'POST', '/keys', { name: `fuzzer ${kind}`, kind });
    made[kind] = { key: body.key, id: body.id };
  }
  return made;
}

async function call(base, key, method, path, body) {
  const answer = await fetch(base + path, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  return { status: answer.status, body: await answer.json() };
}

function environmentOf(base, keys) {
  return {
    ...process.env,
    PYTHONPATH: here,
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONHASHSEED: '0',
    INTERLOCK_TEST_KEYS: JSON.stringify(keys),
    INTERLOCK_TEST_BASE: base,
  };
}

/** Runs a program to its end, what it says goes to a file. Gives its exit code. */
async function program(path, args, { log, cwd, env = process.env }) {
  const to = createWriteStream(log);
  await once(to, 'open');
  const child = spawn(path, args, { cwd, env, stdio: ['ignore', to, to] });
  children.add(child);
  const [code] = await once(child, 'exit');
  children.delete(child);
  to.end();
  return code;
}

async function output(path, args) {
  const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
  const [code] = await Promise.race([
    once(child, 'close'),
    once(child, 'error').then(([error]) => [error.message]),
  ]);
  children.delete(child);
  if (code === 0) return text;
  say(`✗ ${path} ${args.slice(0, 3).join(' ')}: ${code}\n${text.slice(-3_000)}`);
  if (path !== process.execPath)
    say('Needs python3 with venv and pip; on Debian: apt-get install python3-venv.');
  process.exit(1);
}

function say(text) {
  process.stdout.write(`${text}\n`);
}
