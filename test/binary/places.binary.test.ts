/** The standalone executable where other programs give up: odd places, no home, bare roots, and while its file changes. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Proc } from '../e2e/processes.ts';
import { World } from '../e2e/world.ts';
import { missing, program } from '../faults/needs.ts';
import { theExecutable } from './executable.ts';

let world: World;
let executable: string;
beforeAll(async () => {
  executable = realpathSync(theExecutable());
  world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const handlers = {
    'place/pid@1.mjs':
      'export const effectSafety = "pure"; export default (input) => input === "end" ? process.exit(3) : [process.pid, process.execPath];',
    'place/forks@1.mjs':
      'import { execFileSync } from "node:child_process";\nexport const effectSafety = "pure"; export default () => [process.execPath, execFileSync(process.execPath, ["-p", "6 * 7"], { encoding: "utf8" }).trim()];',
  };
  for (const [path, text] of Object.entries(handlers)) {
    mkdirSync(dirname(world.path(`handlers/${path}`)), { recursive: true });
    writeFileSync(world.path(`handlers/${path}`), text);
  }
});
afterAll(() => world[Symbol.asyncDispose]());

/** A copy of its own, at that path below the test's folder. */
function copied(path: string): string {
  const file = world.path(path);
  mkdirSync(dirname(file), { recursive: true });
  copyFileSync(executable, file);
  chmodSync(file, 0o755);
  return file;
}

function arguments_(pool: string, handlers = world.path('handlers')): string[] {
  return [
    ...['--url', world.url, '--worker-id', pool, '--pool', pool],
    ...['--handlers', handlers, '--spool', world.spool(pool)],
  ];
}

/** A worker that alone serves a pool of that name. */
async function worker(file: string, pool: string, env: Record<string, string> = {}): Promise<Proc> {
  const key = world.key('task-worker');
  const started = world.processes.start(file, arguments_(pool), {
    env: { INTERLOCK_WORKER_KEY: key, ...env },
    cwd: world.folder,
  });
  await started.event('worker.ready');
  return started;
}

async function done(pool: string, type = 'place/pid', input: unknown = null) {
  const policy = { maxAttempts: 1 };
  const task = await world.producer.submit(type, 1, input, { policy, pool });
  return world.producer.await(task, { timeoutMs: 60_000 });
}

describe('starts handlers and our own programs from', () => {
  it.each([
    ['a path with blanks, #, %, quotes and ü', `it's a gärage #1 %41 ~/interlock-worker`],
    ['a very long path', `${`${'long'.repeat(50)}/`.repeat(14)}interlock-worker`],
  ])('%s', async (_, path) => {
    const file = copied(path);
    const pool = `place-${path.length}`;
    const started = await worker(file, pool);
    expect((await done(pool)).result).toEqual([expect.any(Number), file]);
    expect((await done(pool, 'place/forks')).result).toEqual([file, '42']);
    started.kill('SIGTERM');
    expect(await started.ending()).toMatchObject({ code: 0 });
    rmSync(file);
  });

  it('a chain of links, one of them relative, without TMPDIR, LANG, HOME that can be written, or a terminal', async () => {
    const first = world.path('links/interlock-worker');
    mkdirSync(dirname(first), { recursive: true });
    symlinkSync(executable, world.path('links/absolute'));
    symlinkSync('absolute', first);
    const key = world.key('task-worker');
    const script = `unset LANG LC_ALL; exec ./links/interlock-worker ${arguments_('links')
      .map((word) => `'${word}'`)
      .join(' ')} <&- >&-`;
    const started = world.processes.start('sh', ['-c', script], {
      cwd: world.folder,
      env: { INTERLOCK_WORKER_KEY: key, TMPDIR: '/nowhere/at/all', HOME: '/proc/nowhere' },
    });
    await started.event('worker.ready');
    expect((await done('links')).result).toEqual([expect.any(Number), executable]);
    started.kill('SIGTERM');
    expect(await started.ending()).toMatchObject({ code: 0 });
  });
});

describe.runIf(process.platform === 'linux')('while it runs', () => {
  /** Its host ends, so that the next task needs a new one. */
  const ended = (pool: string) => done(pool, 'place/pid', 'end');

  it('goes on with its own code when its file is replaced, and when it is removed', async () => {
    const file = copied('replaced/interlock-worker');
    const started = await worker(file, 'replaced');
    const [before] = (await done('replaced')).result as [number, string];
    // As an update does it; whoever started this one would hang or end at once.
    writeFileSync(`${file}.new`, '#!/bin/sh\nexit 42\n', { mode: 0o755 });
    renameSync(`${file}.new`, file);
    expect((await ended('replaced')).error).toMatchObject({
      code: 'ATTEMPTS_EXHAUSTED',
    });
    const [after, path] = (await done('replaced')).result as [number, string];
    expect(after).not.toBe(before);
    // Not the other program that lies there now.
    expect(path).toMatch(/^\/proc\/\d+\/exe$/);
    expect((await done('replaced', 'place/forks')).result).toEqual([expect.any(String), '42']);

    rmSync(file);
    await ended('replaced');
    const [last] = (await done('replaced')).result as [number, string];
    expect(last).not.toBe(after);
    // A handler that starts process.execPath still gets Node.js.
    expect((await done('replaced', 'place/forks')).result).toEqual([
      expect.stringMatching(/^\/proc\/\d+\/exe$/),
      '42',
    ]);
    expect(started.running).toBe(true);
    started.kill('SIGTERM');
    expect(await started.ending()).toMatchObject({ code: 0 });
  });
});

const noRoot = missing('root', 'chroot', 'ldd');
it.skipIf(noRoot)(
  'runs in a bare root: no shell, no home, no user list, no /tmp, nothing but the C libraries (F35)',
  async () => {
    const root = world.path('bare');
    for (const folder of ['handlers/place', 'dev', 'proc', 'state'])
      mkdirSync(join(root, folder), { recursive: true });
    // Node.js opens it for what is closed; a real one needs rights that a container may lack.
    writeFileSync(join(root, 'dev/null'), '', { mode: 0o666 });
    chmodSync(join(root, 'dev/null'), 0o666);
    chmodSync(join(root, 'state'), 0o777);
    for (const folder of [world.folder, root]) chmodSync(folder, 0o755);
    copyFileSync(executable, join(root, 'interlock-worker'));
    chmodSync(join(root, 'interlock-worker'), 0o755);
    const libraries = execFileSync('ldd', [executable], { encoding: 'utf8' }).match(/\/\S+/g) ?? [];
    for (const file of libraries) {
      mkdirSync(join(root, dirname(file)), { recursive: true });
      copyFileSync(realpathSync(file), join(root, file));
    }
    copyFileSync(
      world.path('handlers/place/forks@1.mjs'),
      join(root, 'handlers/place/forks@1.mjs'),
    );
    const inside = (words: readonly string[], env: readonly string[] = []) => [
      '-i',
      ...env,
      program('chroot') ?? '',
      ...['--userspec=12345:12345', root, '/interlock-worker'],
      ...words,
    ];
    const key = `INTERLOCK_WORKER_KEY=${world.key('task-worker')}`;
    const words = arguments_('bare', '/handlers');
    const asked = words.map((word) => (word === world.spool('bare') ? '/state/spool' : word));

    const blind = world.processes.start('env', inside(asked, [key]));
    expect((await blind.ending()).code).toBe(69);
    expect(blind.err).toMatch(/\/proc is not mounted.*\n.*mount -t proc proc \/proc/);

    execFileSync('mount', ['-t', 'proc', 'proc', join(root, 'proc')]);
    try {
      const started = world.processes.start('env', inside(asked, [key]));
      await started.event('worker.ready');
      expect((await done('bare', 'place/forks')).result).toEqual(['/interlock-worker', '42']);
      const version = world.processes.start('env', inside(['--version']));
      expect((await version.ending()).code).toBe(0);
      const homeless = world.processes.start('env', inside(['--url', world.url], [key]));
      expect((await homeless.ending()).code).toBe(64);
      expect(homeless.err).toMatch(/There is no folder for the spool: this user has no home/);
      started.kill('SIGTERM');
      expect(await started.ending()).toMatchObject({ code: 0 });
    } finally {
      execFileSync('umount', [join(root, 'proc')]);
    }
  },
);

describe('interlock dev from the executable', () => {
  /** Its first task too, in a folder that was empty. */
  async function dev(env: Record<string, string>) {
    const cwd = world.path(`empty-${Object.values(env).join('').length}`);
    mkdirSync(cwd);
    const link = world.path('links/interlock');
    mkdirSync(dirname(link), { recursive: true });
    try {
      symlinkSync(executable, link);
    } catch {}
    return world.processes.start(link, ['dev', '--listen', '127.0.0.1:0'], { cwd, env });
  }

  it('writes the handlers that come with it for this user alone, and does its first task', async () => {
    const state = world.path('fresh state');
    const env = { XDG_STATE_HOME: state };
    const both = [await dev(env)];
    const [first] = both as [Proc];
    await first.says(/Hello, /, 60_000);
    const folder = join(state, 'interlock/handlers');
    const [build = ''] = readdirSync(folder);
    const files = readdirSync(join(folder, build), { recursive: true, withFileTypes: true });
    const names = files.filter((one) => one.isFile()).map((one) => one.name);
    expect(names.sort()).toEqual(
      ['append-gated@1.mjs', 'append@1.mjs', 'digest@1.mjs', 'hello@1.mjs'].sort(),
    );
    for (const one of files) {
      const { mode } = statSync(join(one.parentPath, one.name));
      expect(mode & 0o777, one.name).toBe(one.isFile() ? 0o600 : 0o700);
    }
    first.kill('SIGTERM');
    expect(await first.ending()).toMatchObject({ code: 0 });
  });

  it('says in one sentence that they cannot be written', async () => {
    const started = await dev({ XDG_STATE_HOME: '/proc/nowhere' });
    expect((await started.ending(60_000)).code).toBe(74);
    expect(started.err).toMatch(/cannot be written \(\w+\)\.\n.*--handlers, or set XDG_STATE_HOME/);
    expect(started.err).toContain('HANDLERS_NOT_WRITTEN');
  });
});
