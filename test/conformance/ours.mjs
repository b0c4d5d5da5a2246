/**
 * Holds what is built in `dist/` against both kits, as a stranger would: real processes, files and sockets. With
 * INTERLOCK_TEST_EXECUTABLE the standalone executable at that path is both, the kit that runs and the peer that it judges.
 *
 *   node test/conformance/ours.mjs control-plane [--counts FILE] [options of the kit]
 *   node test/conformance/ours.mjs worker | python-worker [--counts FILE] [options of the kit]
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const root = join(import.meta.dirname, '../..');
const executable =
  process.env.INTERLOCK_TEST_EXECUTABLE && resolve(process.env.INTERLOCK_TEST_EXECUTABLE);
const program = (name) =>
  executable ? [executable, name] : [process.execPath, join(root, `dist/${name}.js`)];
const interlock = program('interlock');
const workers = {
  worker: [...program('interlock-worker'), '--handlers', 'samples/conformance-handlers'],
  'python-worker': ['python3', 'samples/python-worker/worker.py'],
};

/** What a peer need not do: any other case that it skips has failed. Hints, batches, claims that wait and large ones, and outcomes that carry their start are for speed. */
const maySkip = {
  'python-worker':
    /no hint stream|no two results together|lets no claim wait|no more than 100 at once|no outcome carry its start/,
};

const [peer, ...given] = process.argv.slice(2);
const at = given.indexOf('--counts');
const counts = at === -1 ? undefined : given.splice(at, 2)[1];
const folder = mkdtempSync(join(tmpdir(), 'interlock-conformance-'));
let plane;
try {
  process.exitCode = await play();
} finally {
  if (plane?.exitCode === null) {
    plane.kill('SIGTERM');
    await new Promise((resolve) => plane.once('exit', resolve));
  }
  rmSync(folder, { recursive: true, force: true });
}

async function play() {
  const report = join(folder, 'report.xml');
  const kit = ['conformance', peer === 'control-plane' ? peer : 'worker'];
  const command = workers[peer];
  if (peer !== 'control-plane' && command === undefined) {
    process.stderr.write(`Say which: control-plane, ${Object.keys(workers).join(', ')}.\n`);
    return 64;
  }
  const peerArgs = command ? ['--', ...command] : await controlPlane();
  const [program, ...args] = [...interlock, ...kit, '--junit', report, ...given, ...peerArgs];
  const code = await run(program, args, 'inherit').ended;
  if (counts) {
    const xml = readFileSync(report, 'utf8');
    const [, tests, failures, skipped] =
      /tests="(\d+)" failures="(\d+)" errors="\d+" skipped="(\d+)"/.exec(xml).map(Number);
    const wrong = [...xml.matchAll(/ name="(\S+) .*<failure message="(.*?)"/g)];
    const bad = [...xml.matchAll(/ name="(\S+) .*<skipped message="(.*?)"/g)]
      .filter(([, , says]) => !(maySkip[peer] ?? /./).test(says))
      .map(([, name, says]) => `${name} may not be skipped: ${says}\n`);
    process.stderr.write(bad.join(''));
    const failed = Math.max(failures + bad.length, code === 0 ? 0 : 1);
    const passed = tests - failures - skipped;
    // What `.ci/run` plays once more (it names files of tests so), and says at its end.
    const files = wrong.map(([, name]) => name);
    const words = wrong.map(([, name, says]) => `  ${name}: ${says}`);
    const left = { passed, failed, skipped: skipped - bad.length, files, failures: words };
    writeFileSync(counts, JSON.stringify(left));
    return bad.length > 0 ? 20 : code;
  }
  return code;
}

/** Our control plane over SQLite with short leases, and the options that name it and its keys. */
async function controlPlane() {
  const data = join(folder, 'data');
  const options = [];
  for (const [kind, project, option] of [
    ['task-worker', 'default', 'worker'],
    ['task-producer', 'default', 'producer'],
    ['task-operator', 'default', 'operator'],
    ['admin', 'default', 'admin'],
    ['task-worker', 'other', 'other-worker'],
    ['task-producer', 'other', 'other-producer'],
  ]) {
    const [program, ...args] = [...interlock, 'keys', 'new', `${kind} of ${project}`];
    args.push('--kind', kind, '--project', project, '--data', data, '--create-data', '--json');
    const made = run(program, args, 'pipe');
    if ((await made.ended) !== 0) throw new Error('A key could not be made.');
    const file = join(folder, `${option}.key`);
    writeFileSync(file, JSON.parse(made.out()).key, { mode: 0o600 });
    options.push(`--${option}-key-file`, file);
  }
  const [program, ...args] = [...interlock, 'control-plane', '--listen', '127.0.0.1:0'];
  args.push('--data', data, '--lease-min', '1s', '--log-format', 'json');
  plane = spawn(program, args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
  let last = '';
  for await (const line of createInterface({ input: plane.stderr })) {
    last = line;
    const said = JSON.parse(line);
    if (said.url) {
      plane.stderr.resume();
      return ['--url', said.url, ...options];
    }
  }
  throw new Error(`The control plane did not start: ${last}`);
}

function run(program, args, stdout) {
  const child = spawn(program, args, { cwd: root, stdio: ['ignore', stdout, 'inherit'] });
  let out = '';
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    out += text;
  });
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
  return { ended, out: () => out };
}
