/** The executable as Node.js for what handlers start: each command line says the same there as under Node.js itself. */
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/commands.ts';
import { isOurs, OUR_WORDS } from '../../src/cli/our-words.ts';
import { theExecutable } from './executable.ts';

const EXECUTABLE = realpathSync(theExecutable());

const SHOWS =
  'console.log(JSON.stringify([process.argv, process.execArgv, process.env.NODE_OPTIONS, process.env.INTERLOCK_NODE_OPTIONS, __filename]));';
const FILES: Record<string, string> = {
  'shows.js': SHOWS,
  'module.mjs': 'console.log(import.meta.url, await 1, process.argv.slice(2));',
  'typed.ts': 'const a: string = "typed"; console.log(a, process.argv.length);',
  'needed.cjs': 'console.log("needed");',
  'pre.mjs': 'console.log("before");',
  'folder/index.js': 'console.log("the folder", process.argv[1]);',
  'throws.js': '\nthrow new Error("thrown");',
  'exits.js': 'process.exit(7);',
  'name with blanks ü#%41.mjs': 'console.log(import.meta.filename);',
  'env.txt': 'FROM_FILE=yes',
  // Starts itself again in several ways, and tells what comes back.
  'family.js': `
    const { fork, spawn, execFileSync, execSync } = require('node:child_process');
    const [, , depth] = process.argv;
    const said = (child) => new Promise((resolve) => {
      const all = [];
      child.on('message', (message) => all.push(message));
      child.on('close', (code, signal) => resolve([all, code, signal]));
    });
    if (depth === 'leaf') {
      process.send?.([process.argv.slice(1), process.execArgv, new Map([[1, 2n]]).size]);
      process.once('message', (message) => { process.send(message); process.disconnect(); });
    } else (async () => {
      const leaf = (options) => { const child = fork(__filename, ['leaf'], options); child.send({ a: [1] }); return said(child); };
      const out = [await leaf(), await leaf({ execArgv: ['--stack-trace-limit=3'] }), await leaf({ execArgv: ['--require', './needed.cjs'], silent: true }), await leaf({ serialization: 'advanced' })];
      out.push(await said(fork('./module.mjs', ['x'], { silent: true })), await said(fork('./typed.ts', { silent: true })), await said(fork('./exits.js')));
      out.push(execFileSync(process.execPath, ['shows.js', 'a'], { encoding: 'utf8' }));
      out.push(execSync('"' + process.execPath + '" -p "1 + 1"', { encoding: 'utf8' }));
      out.push(execFileSync(process.execPath, ['family.js', 'leaf'], { encoding: 'utf8', input: '' }));
      console.log(JSON.stringify(out));
    })();`,
  'options.js': `
    const { Worker } = require('node:worker_threads');
    new Worker('require("node:worker_threads").parentPort.postMessage([Error.stackTraceLimit, process.env.NODE_OPTIONS])', { eval: true }).on('message', (m) => console.log(m, Error.stackTraceLimit, process.execArgv));`,
  'heap.js': 'console.log(require("node:v8").getHeapStatistics().heap_size_limit < 600_000_000)',
};

let folder: string;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'as-node-')));
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(
  program: string,
  args: readonly string[],
  { input = '', env = {} }: { input?: string; env?: Record<string, string> } = {},
): SpawnSyncReturns<string> {
  const { PATH = '' } = process.env;
  return spawnSync(program, args, {
    cwd: folder,
    env: {
      PATH,
      HOME: folder,
      ...(program === EXECUTABLE && { INTERLOCK_RUN_AS_NODE: '1' }),
      ...env,
    },
    encoding: 'utf8',
    input,
    timeout: 60_000,
  });
}

/** Output and end, with the program's own path as `node`. */
function seen({ stdout, status, signal }: SpawnSyncReturns<string>, program: string): unknown {
  return { out: stdout.replaceAll(program, 'node'), status, signal };
}

describe('says and ends as Node.js does:', () => {
  it.each<[string, string[], { input?: string; env?: Record<string, string> }?]>([
    ['a script', ['shows.js', 'a', '--b']],
    ['a script without its ending', ['shows', 'a']],
    ['an ES module', ['module.mjs', 'a']],
    ['TypeScript', ['typed.ts', 'a']],
    ['a folder', ['folder']],
    ['a path with blanks, ü, # and %', [`name with blanks ü#%41.mjs`]],
    ['a script behind --', ['--', 'shows.js', '-e']],
    [
      'a text',
      [
        '-e',
        'console.log(__filename, JSON.stringify(process.argv), require("./folder") && typeof exports)',
        'a',
        '-b',
      ],
    ],
    ['a text that is a value', ['-p', '[process.argv.length, typeof module]']],
    ['a value and an argument', ['-pe', 'process.argv.slice(1)', 'a']],
    [
      'a text that is a module',
      ['--input-type=module', '-e', 'import "./module.mjs"; console.log(await 2, import.meta.url)'],
    ],
    [
      'a text that is a module by its syntax',
      ['--eval', 'import fs from "node:fs"; console.log(typeof fs.readFileSync)'],
    ],
    ['a text that imports', ['-e', 'import("./module.mjs")']],
    [
      'TypeScript as a text',
      ['--input-type=commonjs-typescript', '-e', 'const a: number = 4; console.log(a)'],
    ],
    ['a text that throws', ['-e', 'throw new Error("x")']],
    ['a text that is none', ['-e', 'sy ntax']],
    ['standard input', [], { input: 'console.log(__filename, JSON.stringify(process.argv))' }],
    ['standard input by its sign', ['-', 'a'], { input: 'console.log(process.argv.length)' }],
    ['a value from standard input', ['-p'], { input: '6 * 7' }],
    ['TypeScript that nobody calls so', ['-e', 'const a: number = 4; console.log(a)']],
    ['a module from standard input', ['--input-type=module'], { input: 'console.log(await 5)' }],
    ['a module that is required before', ['-r', './needed.cjs', 'shows.js', 'a']],
    ['a module that is imported before', ['--import', './pre.mjs', 'module.mjs']],
    ['a module that is imported before a text', ['--import=./pre.mjs', '-e', '1']],
    ['options of V8 and Node', ['--max-old-space-size=300', '--no-warnings', 'heap.js']],
    ['options that threads get too', ['--stack-trace-limit=3', 'options.js']],
    ['NODE_OPTIONS', ['options.js'], { env: { NODE_OPTIONS: '--stack-trace-limit=4' } }],
    [
      'a module that NODE_OPTIONS imports, before a script',
      ['typed.ts'],
      { env: { NODE_OPTIONS: '--import ./pre.mjs' } },
    ],
    [
      'a module that NODE_OPTIONS imports, before a text',
      ['-p', '7'],
      { env: { NODE_OPTIONS: '--import "./pre.mjs" --no-warnings' } },
    ],
    ['both', ['--stack-trace-limit=5', 'options.js'], { env: { NODE_OPTIONS: '--no-warnings' } }],
    ['a value with blanks', ['--title', 'a "title"', 'shows.js']],
    ['variables from a file', ['--env-file=env.txt', '-p', 'process.env.FROM_FILE']],
    ['a check', ['--check', 'shows.js']],
    ['a check of a module', ['-c', 'module.mjs']],
    ['a script that is not there', ['nowhere.js']],
    ['a script that throws', ['throws.js']],
    ['an exit code', ['exits.js']],
    ['fork, spawn and exec of process.execPath, down to grandchildren', ['family.js']],
  ])('%s', (_, args, how) => {
    const executable = run(EXECUTABLE, args, how);
    const node = run(process.execPath, args, how);
    expect(seen(executable, EXECUTABLE)).toEqual(seen(node, process.execPath));
    // What it says of an error is the same too, apart from the frames below.
    const first = ({ stderr }: SpawnSyncReturns<string>) => /^\w*Error: .*$/m.exec(stderr)?.[0];
    expect(first(executable)).toBe(first(node));
  });
});

it('tells the version of Node.js, not ours', () => {
  expect(run(EXECUTABLE, ['--version']).stdout).toMatch(/^v2\d\.\d+\.\d+\n$/);
});

it('refuses an option that it does not know in one sentence, with the code of Node.js', () => {
  const { status, stderr, stdout } = run(EXECUTABLE, ['--no-such-thing', 'shows.js']);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/option of Node\.js is not known.*: --no-such-thing\n/);
  expect(stderr).toMatch(/runs as Node\.js here.*write "interlock-worker" or "interlock" before/);
  expect(status).toBe(9);
});

it('passes a signal on where an option and a channel needed a second process', async () => {
  writeFileSync(
    join(folder, 'forks.js'),
    `const child = require('node:child_process').fork('./waits.js', { execArgv: ['--stack-trace-limit=3'] });
     child.once('message', () => child.kill('SIGTERM'));
     child.once('exit', (code, signal) => console.log(code, signal));`,
  );
  writeFileSync(join(folder, 'waits.js'), 'process.send("up"); process.on("message", () => {});');
  expect(run(EXECUTABLE, ['forks.js']).stdout).toBe('null SIGTERM\n');
});

describe('what a handler starts is our program', () => {
  it.each<[string, string, string[]]>([
    ['by a name of ours', 'interlock', ['tasks', '--help']],
    ['by the path of a link', join('bin', 'interlock-worker'), ['tasks', '--help']],
    ['by its own path and a word of ours', EXECUTABLE, ['tasks', '--help']],
    ['by its own path and our name', EXECUTABLE, ['interlock', 'tasks', '--help']],
  ])('%s', async (_, program, args) => {
    mkdirSync(join(folder, 'bin'), { recursive: true });
    for (const name of ['interlock', 'interlock-worker'])
      try {
        symlinkSync(EXECUTABLE, join(folder, 'bin', name));
      } catch {}
    const file = program.startsWith('bin') ? join(folder, program) : program;
    const PATH = `${join(folder, 'bin')}:${process.env.PATH}`;
    const { stdout, stderr } = run(file, args, { env: { PATH, INTERLOCK_RUN_AS_NODE: '1' } });
    expect(stdout, stderr).toMatch(/tasks submit/);
  });

  it('and does not make Node.js of what it starts in its turn', async () => {
    const child = spawn(EXECUTABLE, ['conformance', 'worker', '--manifest'], {
      env: { INTERLOCK_RUN_AS_NODE: '1', HOME: folder },
    });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    const [code] = await new Promise<[number | null]>((resolve) =>
      child.once('close', (...end) => resolve(end as never)),
    );
    expect(code).toBe(0);
    expect(out).toContain('conformance/');
  });
});

describe('the rule', () => {
  const decide = (typed: string, argv: string[], scripts: string[] = []) =>
    isOurs(typed, argv, {
      execPath: '/opt/interlock-worker',
      isScript: (word) => scripts.includes(word),
    });

  it('takes our names for us, whatever follows, and process.execPath for Node', () => {
    expect(decide('interlock-worker', ['child.js'], ['child.js'])).toBe(true);
    expect(decide('/usr/bin/interlock', ['-e', '1'])).toBe(true);
    expect(decide('/opt/interlock-worker', ['child.js'])).toBe(false);
    expect(decide('/opt/interlock-worker', [])).toBe(false);
    expect(decide('/opt/interlock-worker', ['--url', 'x'])).toBe(false);
    expect(decide('/proc/17/exe', ['child.js'])).toBe(false);
  });

  it('asks the disk before it takes a word for a command', () => {
    expect(decide('/opt/interlock-worker', ['tasks', 'list'])).toBe(true);
    expect(decide('/opt/interlock-worker', ['tasks', 'list'], ['tasks'])).toBe(false);
    expect(decide('/opt/interlock-worker', ['interlock', 'tasks'])).toBe(true);
    expect(decide('any other name', ['tasks', 'list'])).toBe(true);
    expect(decide('any other name', ['child.js'])).toBe(false);
  });

  it('knows the first word of every command', () => {
    const words = commands.map(({ path }) => path.split(' '));
    const first = words.flatMap(([word = '', next]) =>
      word === 'worker' && next !== undefined ? [word, next] : [word],
    );
    expect([...new Set(first)].filter((word) => !OUR_WORDS.has(word))).toEqual([]);
  });
});
