import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = dirname(dirname(import.meta.dirname));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const runtimes = Object.keys(manifest.optionalDependencies);
/** The runtime's package that is installed on this machine. */
const runtime = runtimes.find((name) => existsSync(join(root, 'node_modules', name))) ?? '';
const pinned = realpathSync(join(root, 'node_modules', runtime, 'bin', 'node'));
/** A Node.js of the host, if it has another one. */
const host = [
  process.env.npm_node_execpath,
  ...(process.env.PATH ?? '').split(':').map((folder) => `${folder}/node`),
]
  .filter((file) => file !== undefined && existsSync(file))
  .map((file) => realpathSync(file as string))
  .find((file) => file !== pinned && !file.includes('node_modules'));

/** Tells what it is and then does what its first argument says. */
const PROGRAM = `
const { pid, ppid, execPath, execArgv, version } = process;
const [what, how] = process.argv.slice(2);
if (what === 'wait') process.on('SIGTERM', () => process.exit(3));
console.log(JSON.stringify({ pid, ppid, execPath, execArgv, version, args: process.argv.slice(2), cwd: process.cwd(), file: import.meta.filename }));
if (what === 'exit') process.exit(Number(how));
if (what === 'die') process.kill(pid, how);
if (what === 'wait' || what === 'die') setInterval(() => {}, 1000);
if (what === 'echo') process.stdin.pipe(process.stdout);
`;

let scratch: string;
/** A copy of the package with a stand-in for what is built, in a folder with an awkward name. */
let home: string;

beforeAll(() => {
  scratch = realpathSync(mkdtempSync(join(tmpdir(), 'interlock-launchers-')));
  home = tree('a b#c%20ü');
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe.each(['interlock', 'interlock-worker'])('%s', (command) => {
  it('becomes the pinned Node, with the same process id and its arguments untouched', async () => {
    const args = ['a b', '*', '$HOME', '', "it's", '--flag=ü'];
    const seen = await run(join(home, 'bin', command), args);
    expect(seen).toMatchObject({ code: 0, errors: '' });
    expect(seen.said.execPath).toBe(pinned);
    expect(seen.said.pid).toBe(seen.pid);
    expect(seen.said.args).toEqual(args);
    expect(seen.said.file).toBe(join(home, 'dist', `${command}.js`));
    expect(seen.said.execArgv).toEqual([
      '--disable-warning=ExperimentalWarning',
      // A worker collects its garbage itself.
      ...(command === 'interlock-worker' ? ['--no-memory-reducer'] : []),
    ]);
  });
});

it('works from any folder, through links to links and by its bare name', async () => {
  const folder = join(scratch, 'links');
  mkdirSync(folder);
  symlinkSync(join(home, 'bin', 'interlock'), join(folder, 'absolute'));
  symlinkSync('absolute', join(folder, 'relative'));
  for (const [file, cwd] of [
    [join(folder, 'relative'), '/'],
    ['./relative', folder],
    ['bin/interlock', home],
  ] as const) {
    const seen = await run(file, ['x'], { cwd });
    expect(seen.said).toMatchObject({ args: ['x'], cwd, execPath: pinned });
  }
  const linked = join(scratch, 'linked-root');
  symlinkSync(home, linked);
  expect((await run(join(linked, 'bin', 'interlock'), [])).said.execPath).toBe(pinned);
  const bare = await run('sh', ['interlock', 'x'], { cwd: join(home, 'bin') });
  expect(bare.said).toMatchObject({ args: ['x'], execPath: pinned });
});

it('finds the runtime beside the package when it is a dependency', async () => {
  const project = join(scratch, 'project');
  const home = tree('project/node_modules/interlock-node-sdk', { runtime: false });
  link(join(project, 'node_modules'));
  mkdirSync(join(project, 'node_modules/.bin'));
  symlinkSync('../interlock-node-sdk/bin/interlock', join(project, 'node_modules/.bin/interlock'));
  const seen = await run(join(project, 'node_modules/.bin/interlock'), ['x']);
  expect(seen.said).toMatchObject({ execPath: pinned, file: join(home, 'dist/interlock.js') });
});

describe('started by another Node', () => {
  const withoutExecve = ['--import', 'data:text/javascript,process.execve=undefined'];
  const ways: [string, string, string[]][] = [
    ['one that can replace itself', pinned, []],
    ['one that cannot', pinned, withoutExecve],
    ...(host ? ([[`the host's (${host})`, host, []]] as [string, string, string[]][]) : []),
  ];
  it.each(ways)('goes on as the pinned one: %s', async (_, node, flags) => {
    const command = [...flags, join(home, 'bin/interlock')];
    const seen = await run(node, [...command, 'a b', '']);
    expect(seen).toMatchObject({ code: 0, errors: '' });
    expect(seen.said).toMatchObject({ execPath: pinned, args: ['a b', ''] });
    expect(await run(node, [...command, 'exit', '7'])).toMatchObject({ code: 7, errors: '' });
    expect(await run(node, [...command, 'die', 'SIGKILL'])).toMatchObject({ signal: 'SIGKILL' });
    expect(await run(node, [...command, 'die', 'SIGTERM'])).toMatchObject({ signal: 'SIGTERM' });
    const echo = await run(node, [...command, 'echo'], { input: 'through and through' });
    expect(echo.output).toContain('through and through');
  });

  it.each(ways)('passes a signal on and ends as the program ends: %s', async (_, node, flags) => {
    const child = spawn(node, [...flags, join(home, 'bin/interlock'), 'wait']);
    const [line] = await once(child.stdout, 'data');
    const { pid } = JSON.parse(String(line));
    child.kill('SIGTERM');
    expect(await ended(child)).toEqual({ code: 3, signal: null });
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  it('keeps its process id where Node can replace itself', async (context) => {
    if (!('execve' in process)) return context.skip('this Node has no process.execve');
    const seen = await run(pinned, [join(home, 'bin/interlock')]);
    expect(seen.said.pid).toBe(seen.pid);
  });
});

describe('where something is missing', () => {
  it('says that the package is not built, and what to run', async () => {
    const home = tree('unbuilt', { dist: false });
    const command = join(home, 'bin/interlock-worker');
    for (const seen of [await run(command, []), await run(pinned, [command])]) {
      expect(seen).toMatchObject({ code: 69, output: '' });
      expect(seen.errors).toBe(
        `interlock-worker: ${home}/dist/interlock-worker.js is missing, this package has not been built. Run "npm ci" (or "npm run build") in ${home}.\n`,
      );
    }
  });

  it('takes a fitting node from the PATH, and says what to do where there is none', async () => {
    const home = tree('without-runtime', { runtime: false });
    const bin = join(scratch, 'path');
    mkdirSync(bin);
    symlinkSync(pinned, join(bin, 'node'));
    const env = { PATH: `${bin}:/usr/bin:/bin` };
    expect((await run(join(home, 'bin/interlock'), ['x'], { env })).said).toMatchObject({
      execPath: pinned,
      args: ['x'],
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });

    rmSync(join(bin, 'node'));
    writeFileSync(join(bin, 'node'), '#!/bin/sh\nexit 1\n');
    chmodSync(join(bin, 'node'), 0o755);
    const seen = await run(join(home, 'bin/interlock'), [], { env });
    expect(seen).toMatchObject({ code: 69, output: '' });
    expect(seen.errors).toMatch(/^interlock: no Node\.js fits here .* Run "npm ci" in .*\n$/);
  });
});

function tree(name: string, has: { runtime?: boolean; dist?: boolean } = {}): string {
  const home = join(scratch, name);
  mkdirSync(join(home, 'dist'), { recursive: true });
  cpSync(join(root, 'bin'), join(home, 'bin'), { recursive: true });
  writeFileSync(join(home, 'package.json'), '{"type":"module"}');
  if (has.dist !== false) {
    writeFileSync(join(home, 'dist/interlock.js'), PROGRAM);
    writeFileSync(join(home, 'dist/interlock-worker.js'), PROGRAM);
  }
  if (has.runtime !== false) link(join(home, 'node_modules'));
  return home;
}

function link(modules: string): void {
  mkdirSync(modules, { recursive: true });
  symlinkSync(join(root, 'node_modules', runtime), join(modules, runtime));
}

interface Options {
  cwd?: string;
  env?: Record<string, string>;
  input?: string;
}

async function run(file: string, args: string[], { cwd = '/', env, input = '' }: Options = {}) {
  const child = spawn(file, args, { cwd, env: env ?? process.env });
  child.stdin.end(input);
  const [output, errors, end] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    ended(child),
  ]);
  const said = output.startsWith('{') ? JSON.parse(output.split('\n')[0] ?? '') : {};
  return { pid: child.pid, output, errors, said, ...end };
}

async function ended(child: ChildProcess) {
  const [code, signal] = await once(child, 'close');
  return { code, signal };
}
