/** The executable updates itself: the real file, in a folder of its own, with a `systemctl` that is none. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { VERSION } from '../../src/contract/version.ts';
import {
  exeName,
  type Keys,
  makeRelease,
  newKeys,
  target,
  versionOf,
} from '../cli/update/releases.ts';
import { fakeSystemd } from '../cli/update/service.ts';
import { World } from '../e2e/world.ts';
import { theExecutable } from './executable.ts';

const NEXT = '0.1.1';
let world: World;
let keys: Keys;
let pub = '';

beforeAll(async () => {
  world = new World();
  await world.controlPlane('task-worker');
  keys = newKeys();
  pub = join(world.folder, 'pub.pem');
  writeFileSync(pub, keys.publicPem);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

/** The executable as the next version: the same bytes, but for the number. */
function asNext(): Buffer {
  const bytes = readFileSync(theExecutable());
  const [from, to] = [Buffer.from(VERSION), Buffer.from(NEXT)];
  expect(from.length).toBe(to.length);
  for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1)) to.copy(bytes, at);
  return bytes;
}

function release(name: string, version: string, content: string | Buffer, by = keys, to = target) {
  return makeRelease({
    folder: join(world.folder, name),
    version,
    executables: { [to]: content },
    keys: by,
  });
}

function install(name: string): { folder: string; exe: string } {
  const folder = join(world.folder, name);
  mkdirSync(folder);
  const exe = join(folder, 'interlock-worker');
  copyFileSync(theExecutable(), exe);
  chmodSync(exe, 0o755);
  return { folder, exe };
}

interface Ran {
  readonly code: number | null;
  readonly out: string;
  // biome-ignore lint/suspicious/noExplicitAny: any JSON.
  readonly error: any;
}

function start(exe: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return spawn(exe, ['update', '--trust', pub, '--json', ...args], {
    env: { PATH: '/usr/bin:/bin', HOME: world.folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function run(...given: Parameters<typeof start>): Promise<Ran> {
  const child = start(...given);
  let out = '';
  let err = '';
  child.stdout.on('data', (piece) => (out += piece));
  child.stderr.on('data', (piece) => (err += piece));
  const [code] = await once(child, 'close');
  const last = err.trim().split('\n').at(-1) ?? '';
  return { code, out, error: last.startsWith('{') ? JSON.parse(last).error : err };
}

it('updates itself from a folder, and goes back by hand', async () => {
  const { folder, exe } = install('by hand');
  const from = await release('next', NEXT, asNext());
  const done = await run(exe, ['--from', from]);
  expect(done.code, JSON.stringify(done.error)).toBe(0);
  expect(JSON.parse(done.out)).toMatchObject({ did: 'updated', from: VERSION, to: NEXT });
  expect(await versionOf(exe)).toBe(NEXT);
  expect(readdirSync(folder).sort()).toEqual(['interlock-worker', 'interlock-worker.previous']);
  expect((await run(exe, ['--rollback'])).code).toBe(0);
  expect(await versionOf(exe)).toBe(VERSION);
});

it('names the worker that still runs the old file', async () => {
  const { exe } = install('told');
  const from = await release('next', NEXT, asNext());
  const worker = spawn(
    exe,
    [
      '--url',
      world.url,
      '--worker-id',
      'still-old',
      '--handlers',
      join(import.meta.dirname, '../e2e/handlers'),
      '--spool',
      world.spool('still-old'),
    ],
    {
      env: {
        PATH: '/usr/bin:/bin',
        HOME: world.folder,
        INTERLOCK_WORKER_KEY: world.key('task-worker'),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let log = '';
  worker.stderr.on('data', (piece) => (log += piece));
  await vi.waitFor(() => expect(log).toContain('worker.ready'), { timeout: 60_000 });
  const done = await run(exe, ['--from', from, '--spool', world.spool('still-old')]);
  expect(JSON.parse(done.out).oldWorkers).toEqual([
    { workerId: 'still-old', pid: worker.pid, spool: world.spool('still-old'), sure: true },
  ]);
  // As another user would, who does not know its spool: by its process.
  const back = await run(exe, ['--rollback']);
  expect(JSON.parse(back.out).oldWorkers).toEqual([]);
  const again = await run(exe, ['--from', from]);
  expect(JSON.parse(again.out).oldWorkers).toEqual([{ pid: worker.pid, sure: true }]);
  worker.kill('SIGTERM');
  const [code] = await once(worker, 'close');
  expect(code, log).toBe(0);
});

it.each<[string, string, () => Promise<string>]>([
  ['a bad signature', 'UPDATE_UNTRUSTED', () => release('bad', NEXT, asNext(), newKeys())],
  [
    'a cut file',
    'UPDATE_DAMAGED',
    async () => {
      const from = await release('bad', NEXT, asNext());
      truncateSync(join(from, exeName), 50_000_000);
      return from;
    },
  ],
  ['another target', 'UPDATE_WRONG_TARGET', () => release('bad', NEXT, 'x', keys, 'linux-riscv64')],
  [
    'a file that does not run',
    'UPDATE_DOES_NOT_RUN',
    () => release('bad', NEXT, asNext().subarray(0, 1_000_000)),
  ],
])('changes nothing for %s', async (name, code, make) => {
  const { folder, exe } = install(`refuses ${name}`);
  const done = await run(exe, ['--from', await make()]);
  expect(done.error).toMatchObject({ code, exitCode: 90 });
  expect(readdirSync(folder)).toEqual(['interlock-worker']);
  expect(await versionOf(exe)).toBe(VERSION);
});

it('changes nothing when a download ends in the middle', async () => {
  const { folder, exe } = install('cut');
  const from = await release('next', NEXT, asNext());
  const server = createHttpServer((request, response) => {
    const bytes = readFileSync(join(from, (request.url ?? '').slice(1)));
    response.writeHead(200, { 'content-length': String(bytes.length) });
    if (bytes.length < 1_000_000) response.end(bytes);
    else response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const done = await run(exe, [
    '--from',
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  ]);
  server.close();
  expect(done.error).toMatchObject({ code: 'UNREACHABLE', details: { cause: 'cut' } });
  expect(readdirSync(folder)).toEqual(['interlock-worker']);
  expect(await versionOf(exe)).toBe(VERSION);
});

it('restarts its service with the next version, and puts the old one back when another never becomes ready', async () => {
  const { folder, exe } = install('served');
  const port = await freePort();
  const args = [
    ...['--url', world.url, '--worker-id', 'served', '--spool', world.spool('served')],
    ...['--handlers', join(import.meta.dirname, '../e2e/handlers')],
    ...['--status-listen', `127.0.0.1:${port}`, '--drain-timeout', '5s'],
  ];
  const systemd = fakeSystemd(join(world.folder, 'served-by'), exe, {
    args: args.join(' '),
    real: true,
  });
  const env = {
    ...systemd.env,
    PATH: `${systemd.bin}:/usr/bin:/bin`,
    INTERLOCK_WORKER_KEY: world.key('task-worker'),
  };
  execFileSync(join(systemd.bin, 'systemctl'), ['restart', 'x'], {
    env: { ...env, HOME: world.folder },
  });
  const ready = async () =>
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  await vi.waitFor(ready, { timeout: 60_000 });

  const from = await release('next', NEXT, asNext());
  const done = await run(exe, ['--from', from, '--ready-within', '60s'], env);
  expect(done.code, JSON.stringify(done.error)).toBe(0);
  expect(JSON.parse(done.out)).toMatchObject({
    did: 'updated',
    services: ['interlock-worker.service'],
    oldWorkers: [],
  });
  await ready();
  expect(readlinkSync(`/proc/${systemd.pid()}/exe`)).toBe(exe);
  expect(await versionOf(exe)).toBe(NEXT);

  const broken = await release(
    'broken',
    '0.1.2',
    '#!/bin/sh\nif [ "$1" = --version ]; then echo 0.1.2; exit 0; fi\necho "the new one hangs"\nexec sleep 600\n',
  );
  const back = await run(exe, ['--from', broken, '--ready-within', '3s'], env);
  expect(back.error).toMatchObject({ code: 'UPDATE_ROLLED_BACK', exitCode: 91 });
  expect(back.error.message).toContain('the new one hangs');
  await ready();
  expect(readlinkSync(`/proc/${systemd.pid()}/exe`)).toBe(exe);
  expect(await versionOf(exe)).toBe(NEXT);
  expect(await versionOf(`${exe}.previous`)).toBe(VERSION);
  expect(readdirSync(folder).sort()).toEqual(['interlock-worker', 'interlock-worker.previous']);
});

it('leaves an executable that runs whenever its update is killed, and the next update succeeds', async () => {
  const { folder, exe } = install('killed');
  const from = await release('next', NEXT, asNext());
  const before = performance.now();
  await run(exe, ['--from', from]);
  const wholeMs = performance.now() - before;
  const rounds = 10;
  for (let round = 0; round < rounds; round++) {
    copyFileSync(theExecutable(), `${exe}.fresh`);
    execFileSync('mv', [`${exe}.fresh`, exe]);
    const child = start(exe, ['--from', from]);
    const closed = once(child, 'close');
    const timer = setTimeout(() => child.kill('SIGKILL'), (wholeMs * (round + 0.5)) / rounds);
    await closed;
    clearTimeout(timer);
    expect([VERSION, NEXT], `round ${round}`).toContain(await versionOf(exe));
    const next = await run(exe, ['--from', from]);
    expect(next.code, `round ${round}: ${JSON.stringify(next.error)}`).toBe(0);
    expect(await versionOf(exe)).toBe(NEXT);
  }
  expect(readdirSync(folder).sort()).toEqual(['interlock-worker', 'interlock-worker.previous']);
}, 300_000);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
