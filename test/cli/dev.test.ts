import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { npmGone } from '../../src/cli/dev/parent.ts';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { systemClock } from '../../src/system/clock.ts';
import { PROGRAMS } from '../binary/executable.ts';
import { type Proc, Processes, until } from '../e2e/processes.ts';
import { temporaryFolder } from './world.ts';

// Real processes on a machine that others keep busy.
vi.setConfig({ testTimeout: 120_000 });

const BIN = join(PROGRAMS, 'interlock');

/** `interlock dev` as a person meets it: real processes, in a folder of its own, ended as a terminal ends them. */
let processes: Processes;
let cwd: string;
beforeEach(() => {
  processes = new Processes(temporaryFolder());
  cwd = temporaryFolder();
  handler(
    'demo/hello@1',
    'export default ({ name }) => ({ greeting: "Hello, ".concat(name, "!") });',
  );
});
afterEach(() => processes.end());

function handler(key: string, text: string): void {
  const file = join(cwd, 'handlers', `${key}.mjs`);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, `export const effectSafety = 'pure';\n${text}\n`);
}

/** A group of its own, as a shell gives it: Ctrl-C reaches all of it. */
function dev(...args: string[]): Proc {
  const all = args.includes('--listen') ? args : ['--listen', '127.0.0.1:0', ...args];
  return processes.start('interlock', ['dev', ...all], { cwd, group: true });
}

/** Typed in a second terminal, in the same folder, without flags for address and keys. */
async function typed(...args: string[]) {
  const proc = processes.start('interlock', args, { cwd });
  const { code } = await proc.ending();
  return { code, out: proc.out, err: proc.err };
}

async function ready(proc: Proc): Promise<void> {
  await proc.says(/Ctrl-C drains and ends all of it/);
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Process ids as they stand on the screen. */
function pids(proc: Proc) {
  const of = (name: string) => Number(new RegExp(`${name} +process (\\d+)`).exec(proc.out)?.[1]);
  return { controlPlane: of('control plane'), worker: of('worker'), host: of('handler host') };
}

it('brings up three processes, shows a task done, serves a second terminal, and Ctrl-C ends all in order', async () => {
  const proc = dev();
  await ready(proc);
  const { controlPlane, worker, host } = pids(proc);
  expect(new Set([proc.pid, controlPlane, worker, host]).size).toBe(4);
  expect([controlPlane, worker, host].every(alive)).toBe(true);
  expect(proc.out).toMatch(/done {2}demo\/hello tsk_\w+ after .+: \{"greeting":"Hello, Ada!"\}/);
  const [, url] = /process \d+, (http:\/\/127\.0\.0\.1:\d+),/.exec(proc.out) ?? [];
  const file = join(cwd, '.interlock/profile.json');
  const profile = JSON.parse(readFileSync(file, 'utf8'));
  expect(profile).toMatchObject({ url, project: 'default' });
  expect(Object.keys(profile.keys).sort()).toEqual([
    'admin',
    'task-operator',
    'task-producer',
    'task-worker',
  ]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(proc.out + proc.err).not.toContain('il_');

  const submit = ['tasks', 'submit', 'demo/hello', '--input', '{"name":"Ada"}'];
  const first = await typed(...submit, '--idempotency-key', 'hello-ada');
  expect(first).toMatchObject({ code: 0, out: expect.stringContaining('demo/hello@1 is queued') });
  const id = first.out.split(' ')[0] ?? '';
  const watched = await typed('tasks', 'watch', id);
  expect(watched).toMatchObject({ code: 0, out: expect.stringContaining('Hello, Ada!') });
  expect((await typed('tasks', 'list')).out).toContain(id);
  expect((await typed('tasks', 'workers')).out).toMatch(/ready: 0 of \d+ slots are working/);
  const doctor = await typed('tasks', 'doctor', '--spool', '.interlock/spool');
  expect(doctor, doctor.out).toMatchObject({ code: 0 });
  const key = await typed(
    'keys',
    'new',
    'garage worker',
    '--kind',
    'task-worker',
    '--project',
    'default',
  );
  expect(key).toMatchObject({ code: 0, out: expect.stringMatching(/^key +il_/) });

  const again = processes.start('interlock', ['dev'], { cwd });
  expect(await again.ending()).toMatchObject({ code: exitCodes['already-running'].code });
  expect(again.err).toContain(
    `interlock dev already runs in this folder (process ${proc.pid}) at ${url}`,
  );
  expect(again.err).toContain(`or kill ${proc.pid} (`);

  proc.killGroup('SIGINT');
  expect(await proc.ending()).toEqual({ code: 0, signal: null });
  expect(proc.out).toMatch(/Drained in order[\s\S]+Stopped in order[\s\S]+All ended/);
  expect([controlPlane, worker, host].some(alive)).toBe(false);
});

it('keeps keys and tasks from one start to the next, and makes new keys where the data were removed', async () => {
  const first = dev();
  await ready(first);
  const keys = () => JSON.parse(readFileSync(join(cwd, '.interlock/profile.json'), 'utf8')).keys;
  const before = keys();
  first.killGroup('SIGINT');
  await first.ending();
  const second = dev();
  await ready(second);
  expect(keys()).toEqual(before);
  expect(JSON.parse((await typed('tasks', 'list', '--json')).out).tasks).toHaveLength(2);
  second.kill('SIGTERM');
  expect(await second.ending()).toMatchObject({ code: 0 });
  rmSync(join(cwd, '.interlock/data'), { recursive: true });
  const third = dev();
  await ready(third);
  expect(keys()).not.toEqual(before);
  expect(JSON.parse((await typed('tasks', 'list', '--json')).out).tasks).toHaveLength(1);
});

it('takes the next free port where its own is taken, and says so where it was asked for', async () => {
  const taken = await holdPort();
  const { port } = taken.address() as { port: number };
  try {
    const insists = dev('--listen', `127.0.0.1:${port}`);
    expect(await insists.ending()).toMatchObject({ code: exitCodes['child-died'].code });
    expect(insists.err).toMatch(
      /control plane ended with 86: Something already listens on 127\.0\.0\.1:\d+\.\nnext .+--listen/,
    );
  } finally {
    taken.close();
  }
  // Whoever has 7420 (or nobody): it is found, and so is a free one.
  const holder = await holdPort(7420).catch(() => undefined);
  try {
    const proc = processes.start('interlock', ['dev'], { cwd, group: true });
    await ready(proc);
    expect(
      Number(/http:\/\/127\.0\.0\.1:(\d+) \(7420 is taken, so \d+ is used\)/.exec(proc.out)?.[1]),
    ).toBeGreaterThan(7420);
    expect(proc.out + proc.err).not.toContain('ADDRESS_IN_USE');
  } finally {
    holder?.close();
  }
});

it('leaves no process behind when it is killed', async () => {
  const proc = dev();
  await ready(proc);
  const { controlPlane, worker, host } = pids(proc);
  proc.kill('SIGKILL');
  await until(() => ![controlPlane, worker, host].some(alive), 'end of its processes');
  // And the folder is free for the next one.
  const next = dev();
  await ready(next);
});

it('stops a handler that does not end at a second Ctrl-C', async () => {
  handler(
    'hangs@1',
    'export default (_, ctx) => new Promise((_, no) => ctx.signal.addEventListener("abort", () => no(ctx.signal.reason)));',
  );
  const proc = dev();
  await ready(proc);
  const { out } = await typed('tasks', 'submit', 'hangs', '--json');
  const { id } = JSON.parse(out);
  await until(async () => /running/.test((await typed('tasks', 'show', id)).out), 'running task');
  proc.killGroup('SIGINT');
  await proc.says(/Draining: nothing more is claimed, 1 running/);
  // Two within a second are one.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  expect(proc.running).toBe(true);
  proc.killGroup('SIGINT');
  expect(await proc.ending()).toMatchObject({ code: 0 });
  expect(proc.out).toMatch(/1 handler had to be told to stop[\s\S]+All ended/);
});

it('ends with its own code when a process of it dies, and ends the others', async () => {
  const proc = dev();
  await ready(proc);
  const { controlPlane, worker } = pids(proc);
  process.kill(worker, 'SIGKILL');
  expect(await proc.ending()).toMatchObject({ code: exitCodes['child-died'].code });
  expect(proc.err).toMatch(/The worker was ended by SIGKILL/);
  expect(alive(controlPlane)).toBe(false);
});

it('keeps control plane and pages where an operator drains its worker, and says what to do', async () => {
  const proc = dev();
  await ready(proc);
  const { controlPlane, worker } = pids(proc);
  expect(await typed('tasks', 'drain', 'dev')).toMatchObject({ code: 0 });
  await proc.says(/An operator drained the worker: it has ended, and nothing is claimed any more/);
  expect([controlPlane, worker].map(alive)).toEqual([true, false]);
  expect(await typed('tasks', 'list')).toMatchObject({ code: 0 });
  proc.killGroup('SIGINT');
  expect(await proc.ending()).toEqual({ code: 0, signal: null });
});

function holdPort(port = 0): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

it('ends in order when the shell of npm is gone, as after a SIGTERM to npm', async () => {
  const shell = processes.start('sh', ['-c', `'${BIN}' dev --listen 127.0.0.1:0; true`], {
    cwd,
    group: true,
    env: { npm_lifecycle_event: 'start', npm_lifecycle_script: 'node ./bin/interlock dev' },
  });
  await ready(shell);
  const { controlPlane, worker, host } = pids(shell);
  const { pid } = JSON.parse(readFileSync(join(cwd, '.interlock', 'dev.json'), 'utf8'));
  expect(pid).not.toBe(shell.pid);
  process.kill(shell.pid, 'SIGTERM');
  await until(() => ![pid, controlPlane, worker, host].some(alive), 'end of all');
});

it('watches no shell but that of an npm that waits for it', async () => {
  const clock = systemClock();
  const never = new AbortController().signal;
  const gone = (env: Record<string, string>) => npmGone({ env, clock }, never, () => 1);
  expect(await gone({})).toBe(false);
  const npm_lifecycle_event = 'start';
  expect(await gone({ npm_lifecycle_event, npm_lifecycle_script: 'interlock dev &' })).toBe(false);
  let looks = 0;
  const env = { npm_lifecycle_event, npm_lifecycle_script: 'a && interlock dev' };
  expect(await npmGone({ env, clock }, never, () => (looks++ === 0 ? 7 : 1))).toBe(true);
});
