import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkClock } from '../../src/cli/doctor/reach.ts';
import { checkService } from '../../src/cli/doctor/service.ts';
import { checkSpool, liesInMemory } from '../../src/cli/doctor/spool-checks.ts';
import { checkStale, readStale } from '../../src/cli/doctor/stale-reports.ts';
import { limits } from '../../src/contract/index.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemDisk } from '../../src/system/disk.ts';
import { systemFolderLock } from '../../src/system/folder-lock.ts';
import { systemProcessInfo } from '../../src/system/process-info.ts';
import { openSpool, type SpoolInspection } from '../../src/worker/spool.ts';
import { silent, startPlane } from './plane.ts';
import { interlock } from './run.ts';
import { temporaryFolder } from './world.ts';

interface Line {
  readonly name: string;
  readonly state: string;
  readonly says: string;
  readonly fix?: string;
}

/** Doctor's lines as data. */
async function doctor(
  argv: readonly string[],
  env: Record<string, string>,
  cwd = temporaryFolder(),
) {
  const ran = await interlock(['tasks', 'doctor', '--json', ...argv], { env, cwd });
  const { ok, checks } = JSON.parse(ran.out) as { ok: boolean; checks: Line[] };
  expect(ok).toBe(ran.code === 0);
  for (const { state, fix } of checks) if (state === 'fail') expect(fix).toMatch(/\w/);
  const of = (name: string) => checks.filter((check) => check.name === name);
  const states = Object.fromEntries(checks.map(({ name, state }) => [name, state]));
  return { code: ran.code, checks, of, states };
}

async function listening(server: Server | ReturnType<typeof createTcpServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const page: RequestListener = (_request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>Sign in</html>');
};

describe('doctor', () => {
  it('tells one line for each check, and ends with 0 where only a warning is left', async () => {
    const plane = await startPlane();
    const { code, states, of } = await doctor(
      [],
      plane.env('task-producer', 'task-worker', 'admin'),
    );
    expect(code).toBe(0);
    expect(states).toMatchObject({
      address: 'ok',
      name: 'ok',
      proxy: 'skip',
      connect: 'ok',
      tls: 'skip',
      contract: 'ok',
      clock: 'ok',
      key: 'ok',
      queue: 'ok',
      workers: 'warn',
      outbox: 'ok',
      transport: 'ok',
      handlers: 'skip',
      spool: 'skip',
    });
    expect(of('key').map(({ says }) => says)).toEqual([
      'task-worker of project default, from INTERLOCK_WORKER_KEY',
      'task-producer of project default, from INTERLOCK_PRODUCER_KEY',
      'admin of project default, from INTERLOCK_ADMIN_KEY',
    ]);
  });

  it('shows lines for people, with the fix below what needs one', async () => {
    const plane = await startPlane();
    const env = plane.env('task-producer');
    await interlock(['tasks', 'submit', 'nobody/serves'], { env });
    const { code, out } = await interlock(['tasks', 'doctor'], { env });
    expect(code).toBe(20);
    expect(out).toMatch(
      /^fail {2}workers {9}none is online, and 1 task waits\n {22}fix: Start one/m,
    );
    expect(out).toMatch(/\n1 check failed\.\n$/);
  });

  it('tells keys apart: missing, malformed, of nobody, kept in the wrong place, of another project', async () => {
    const plane = await startPlane();
    const at = { INTERLOCK_URL: plane.url };
    const none = await doctor([], at);
    expect(none.of('key')).toMatchObject([
      { state: 'fail', says: expect.stringContaining('none is configured') },
    ]);
    const keys = {
      ...at,
      INTERLOCK_WORKER_KEY: 'il two words',
      INTERLOCK_PRODUCER_KEY: 'il_nobodymadethis',
      INTERLOCK_OPERATOR_KEY: plane.key('task-worker'),
      INTERLOCK_ADMIN_KEY: plane.key('admin'),
    };
    const { code, of } = await doctor(['--project', 'shop'], keys);
    expect(code).toBe(20);
    const says = of('key').map(({ state, says }) => `${state} ${says}`);
    expect(says).toEqual([
      expect.stringMatching(/^fail The key in INTERLOCK_WORKER_KEY holds characters/),
      expect.stringMatching(/^fail INTERLOCK_PRODUCER_KEY is refused: 401 UNAUTHENTICATED/),
      'fail INTERLOCK_OPERATOR_KEY is accepted, but it is of kind task-worker and kept as task-operator',
      expect.stringMatching(
        /^fail INTERLOCK_ADMIN_KEY is of kind admin and project "default", but "shop" is set/,
      ),
    ]);
    expect(JSON.stringify(of('key'))).not.toContain(plane.key('admin'));
  });

  it('warns of a key file that others may read', async () => {
    const plane = await startPlane();
    const file = join(temporaryFolder(), 'key');
    writeFileSync(file, plane.key('task-producer'), { mode: 0o644 });
    const { of, code } = await doctor(['--key-file', file], { INTERLOCK_URL: plane.url });
    expect(of('key').map(({ state }) => state)).toEqual(['warn', 'ok']);
    expect(code).toBe(0);
  });

  it('loads the handlers and tells those that do not', async () => {
    const plane = await startPlane();
    const handlers = join(temporaryFolder(), 'handlers');
    mkdirSync(handlers);
    writeFileSync(join(handlers, 'good@1.mjs'), 'export default () => 1;');
    writeFileSync(join(handlers, 'bad@1.mjs'), 'throw new Error("no such thing");');
    const { code, of } = await doctor(['--handlers', handlers], plane.env('task-producer'));
    expect(code).toBe(20);
    expect(of('handlers')).toMatchObject([
      { state: 'ok', says: expect.stringContaining('good@1') },
      {
        state: 'fail',
        says: expect.stringMatching(/^bad@1\.mjs: it does not load: .*no such thing/),
      },
    ]);
  });
});

describe('stale reports', () => {
  const report = (op: string, kept: boolean) => ({ op, taskId: 'tsk_1', kept });

  it('ask for nothing where all of them only said that an attempt was lost', () => {
    expect(checkStale('/s', 2, [report('lost', false), report('lost', false)])).toMatchObject({
      state: 'ok',
      says: expect.stringMatching(/^2 reports came too late: 2 lost;/),
    });
  });

  it('name the task whose outcome can still be taken', () => {
    expect(checkStale('/s', 2, [report('lost', false), report('complete', true)])).toMatchObject({
      state: 'warn',
      says: '2 reports came too late: 1 lost, 1 complete',
      fix: expect.stringContaining('tasks resolve tsk_1 --as late-report --reason'),
    });
  });

  it('are read as they lie in the spool, and a damaged one is left out', async () => {
    const spool = temporaryFolder();
    mkdirSync(join(spool, 'stale'));
    const record = { body: { op: 'fail', taskId: 'tsk_2' } };
    const answer = { status: 409, problem: { code: 'STALE_ATTEMPT', recorded: true } };
    writeFileSync(join(spool, 'stale/1.jsonl'), JSON.stringify({ kind: 'stale', record, answer }));
    writeFileSync(join(spool, 'stale/2.jsonl'), '{"kind":"sta');
    expect(await readStale(spool)).toEqual([{ op: 'fail', taskId: 'tsk_2', kept: true }]);
    expect(await readStale(join(spool, 'nowhere'))).toEqual([]);
  });
});

describe('doctor tells apart', () => {
  const key = { INTERLOCK_PRODUCER_KEY: 'il_x' };

  it('a name that DNS does not know', async () => {
    const { states, of } = await doctor(['--url', 'https://nowhere.invalid'], key);
    expect(states).toMatchObject({
      address: 'ok',
      name: 'fail',
      clock: 'skip',
      key: 'skip',
      queue: 'skip',
    });
    expect(states.connect).toBeUndefined();
    expect(of('name')[0]?.says).toContain('nowhere.invalid');
  });

  it('a port where nothing listens', async () => {
    const server = createServer();
    const port = await listening(server);
    await new Promise((resolve) => server.close(resolve));
    const { states } = await doctor(['--url', `http://127.0.0.1:${port}`], key);
    expect(states).toMatchObject({ name: 'ok', connect: 'fail' });
    expect(states.contract).toBeUndefined();
  });

  it('a port that speaks no TLS', async () => {
    const port = await listening(createServer(page));
    const { states } = await doctor(['--url', `https://127.0.0.1:${port}`], key);
    expect(states).toMatchObject({ name: 'ok', connect: 'ok', tls: 'fail' });
  });

  it('a certificate that nobody here knows', async () => {
    const folder = join(import.meta.dirname, '../wire/certificates');
    const tls = {
      key: readFileSync(join(folder, 'right.key')),
      cert: readFileSync(join(folder, 'right.pem')),
    };
    const port = await listening(createTlsServer(tls, page));
    const unknown = await doctor(['--url', `https://127.0.0.1:${port}`], key);
    expect(unknown.states).toMatchObject({ connect: 'ok', tls: 'fail' });
    expect(unknown.of('tls')[0]?.says).toContain('--ca-file');
    const authority = join(folder, 'authority.pem');
    // Known, it is the next step that fails.
    const known = await doctor(['--url', `https://127.0.0.1:${port}`, '--ca-file', authority], key);
    expect(known.states).toMatchObject({ tls: 'ok', contract: 'fail' });
  });

  it('a page of something else', async () => {
    const port = await listening(createServer(page));
    const { states, of } = await doctor(['--url', `http://127.0.0.1:${port}`], key);
    expect(states).toMatchObject({ connect: 'ok', contract: 'fail' });
    expect(of('contract')[0]?.says).toMatch(/html/i);
  });

  it('another version of the contract', async () => {
    const port = await listening(
      createServer((_request, response) => {
        response.writeHead(200, { 'Content-Type': 'application/json' });
        const serverTime = '2000-01-01T00:00:00.000Z';
        response.end(JSON.stringify({ contracts: [2], serverTime, limits, features: [] }));
      }),
    );
    const { of, states } = await doctor(['--url', `http://127.0.0.1:${port}`], key);
    expect(of('contract')).toMatchObject([
      { state: 'fail', says: expect.stringContaining('it speaks contract 2') },
    ]);
    expect(states.clock).toBe('warn');
  });

  it('a proxy that is not there, and one that asks for a password', async () => {
    const gone = await doctor(['--url', 'https://tasks.example.com'], {
      ...key,
      HTTPS_PROXY: 'http://127.0.0.1:9',
    });
    expect(gone.states).toMatchObject({ name: 'skip', proxy: 'fail' });
    const server = createServer();
    server.on('connect', (_request, socket) => {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    });
    const port = await listening(server);
    const asks = await doctor(['--url', 'https://tasks.example.com'], {
      ...key,
      HTTPS_PROXY: `http://ada:secretword@127.0.0.1:${port}`,
    });
    expect(asks.states).toMatchObject({ proxy: 'fail' });
    expect(asks.of('proxy')[0]?.says).toContain('407');
    expect(JSON.stringify(asks.checks)).not.toContain('secretword');
  });

  it('a plain address beyond this machine and one that is none, before anything is sent', async () => {
    for (const url of ['http://tasks.example.com', 'nonsense']) {
      const { checks, code } = await doctor(['--url', url], key);
      expect(checks[0]).toMatchObject({ name: 'address', state: 'fail' });
      expect(code).toBe(20);
    }
  });
});

describe('the clock', () => {
  it('is a warning when it is far away, never a failure', () => {
    expect(checkClock(400)).toMatchObject({ state: 'ok' });
    expect(checkClock(-3_600_000)).toMatchObject({
      state: 'warn',
      says: expect.stringMatching(/1 h behind/),
    });
    expect(checkClock(60_000)).toMatchObject({
      state: 'warn',
      says: expect.stringMatching(/1 min ahead/),
    });
    expect(checkClock(undefined)).toMatchObject({ state: 'skip' });
  });
});

describe('queue, workers and outbox', () => {
  const answer = {
    serverTime: '',
    project: 'default',
    keyKind: 'admin',
    queueDepth: 0,
    oldestQueuedMs: null,
    workers: { ready: 1, full: 0, draining: 0, offline: 2 },
    outboxDebt: 0,
  };
  const states = (given: Partial<typeof answer>) =>
    checkService({ ...answer, ...given } as typeof answer).map(
      ({ state, says }) => `${state} ${says}`,
    );

  it('are told in words', () => {
    expect(states({})).toEqual([
      'ok empty',
      'ok 1 ready, 2 offline',
      'ok nothing is waiting to be delivered',
    ]);
    const none = { ready: 0, full: 0, draining: 0, offline: 0 };
    expect(states({ workers: none, outboxDebt: 3 })).toEqual([
      'ok empty',
      'warn none is online',
      'warn 3 callbacks or hints are not yet delivered',
    ]);
    expect(states({ workers: none, queueDepth: 2 })[1]).toBe(
      'fail none is online, and 2 tasks wait',
    );
    expect(checkService(undefined).map(({ state }) => state)).toEqual(['skip', 'skip', 'skip']);
  });
});

describe('the spool', () => {
  const sound: SpoolInspection = {
    folder: '/s',
    exists: true,
    readable: { ok: true },
    writable: { ok: true, tookMs: 4 },
    owner: { workerId: 'w', pid: 7, hostName: 'h', since: '2026-01-01T00:00:00Z', state: 'alive' },
    pending: 0,
    bytes: 0,
    oldestMs: null,
    running: 0,
    setAside: { stale: 0, refused: 0, corrupt: 0 },
    corruptLines: [],
    newer: 0,
    unreadable: [],
  } as SpoolInspection;
  const found = (given: Partial<SpoolInspection>, memory = false) =>
    checkSpool({ ...sound, ...given }, memory).filter(
      ({ state }) => state !== 'ok' && state !== 'skip',
    );

  it('is sound where nothing is wrong', () => {
    expect(found({})).toEqual([]);
  });

  it.each<[string, Partial<SpoolInspection>, string, RegExp]>([
    ['is not there', { exists: false }, 'fail', /does not exist/],
    [
      'cannot be read',
      { readable: { ok: false, why: 'EACCES' } },
      'fail',
      /cannot be read \(EACCES\)/,
    ],
    [
      'cannot be written',
      { writable: { ok: false, why: 'ENOSPC' } },
      'fail',
      /cannot be written \(ENOSPC\)/,
    ],
    [
      'was left by a crash',
      { owner: { ...sound.owner, state: 'gone' } as SpoolInspection['owner'] },
      'warn',
      /ended without giving it back/,
    ],
    [
      'owes reports for long',
      { pending: 3, bytes: 900, oldestMs: 600_000 },
      'warn',
      /3 reports are not answered yet .+ 10 min/,
    ],
    [
      'has a damaged line',
      { corruptLines: [{ file: 'f', line: 2, why: 'is cut' }] },
      'fail',
      /f, line 2: is cut/,
    ],
    [
      'has damaged records set aside',
      { setAside: { stale: 0, refused: 0, corrupt: 1 } },
      'fail',
      /1 damaged record was set aside/,
    ],
    [
      'has refused reports',
      { setAside: { stale: 0, refused: 2, corrupt: 0 } },
      'fail',
      /2 reports were refused for good/,
    ],
    [
      'has stale reports',
      { setAside: { stale: 2, refused: 0, corrupt: 0 } },
      'warn',
      /2 reports came too late/,
    ],
    ['has records of a later version', { newer: 1 }, 'warn', /1 record is of a later version/],
  ])('%s', (_what, given, state, words) => {
    const [first] = found(given);
    expect(first).toMatchObject({
      state,
      says: expect.stringMatching(words),
      fix: expect.any(String),
    });
  });

  it('warns where it is in memory only', async () => {
    expect(found({}, true)).toMatchObject([
      { state: 'warn', says: expect.stringContaining('tmpfs') },
    ]);
    if (process.platform === 'linux') expect(await liesInMemory('/dev/shm')).toBe(true);
    expect(await liesInMemory('/nowhere')).toBe(false);
  });

  it('is read from the disk, beside the worker that holds it', async () => {
    const plane = await startPlane();
    const folder = join(temporaryFolder(), 'spool');
    const opened = await openSpool({
      disk: systemDisk(),
      clock: systemClock(),
      log: silent,
      lock: systemFolderLock(),
      processInfo: await systemProcessInfo(),
      folder,
      workerId: 'garage',
      sessionId: 'ses_1',
      serviceUrl: plane.url,
    });
    if (!opened.ok) throw opened.error;
    const held = await doctor(['--spool', folder], plane.env('task-producer'));
    expect(held.of('spool owner')[0]?.says).toMatch(/worker garage, process \d+ .+ runs since/);
    expect(held.states).toMatchObject({
      'spool read': 'ok',
      'spool write': 'ok',
      'spool debt': 'ok',
    });
    await opened.spool.close();
    const closed = await doctor(['--spool', folder], plane.env('task-producer'));
    expect(closed.of('spool owner')[0]?.says).toContain('gave it back in order');
    writeFileSync(join(folder, 'reports', '000000000009-00000000.jsonl'), 'damaged\n');
    const damaged = await doctor(['--spool', folder], plane.env('task-producer'));
    expect(damaged.code).toBe(20);
    expect(damaged.states['spool damage']).toBe('fail');
  });
});
