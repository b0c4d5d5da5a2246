import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkClock } from '../../src/cli/doctor/reach.ts';
import { checkService } from '../../src/cli/doctor/service.ts';
import { checkSpool, type SpoolSurroundings } from '../../src/cli/doctor/spool-checks.ts';
import { checkStale, readStale } from '../../src/cli/doctor/stale-reports.ts';
import { limits } from '../../src/contract/index.ts';
import { MARKER_VARIABLE } from '../../src/handler/protocol.ts';
import { openSpool, type SpoolInspection } from '../../src/spool/index.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemDisk } from '../../src/system/disk.ts';
import { systemFolderLock } from '../../src/system/folder-lock.ts';
import { systemProcessInfo } from '../../src/system/process-info.ts';
import { silent, startPlane } from './plane.ts';
import { interlock } from './run.ts';
import { complete, fullSpool, META, openGarage } from './spool-world.ts';
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
      deliveries: 'ok',
      transport: 'ok',
      hints: 'ok',
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

  it('says of a profile whose keys are refused once that it may be of another control plane', async () => {
    const plane = await startPlane();
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, '.interlock'));
    const kinds = ['task-worker', 'task-producer', 'task-operator', 'admin'];
    const keys = Object.fromEntries(kinds.map((kind) => [kind, `il_nobodymade${kind}`]));
    const profile = JSON.stringify({ url: plane.url, keys });
    writeFileSync(join(cwd, '.interlock', 'profile.json'), profile, { mode: 0o600 });
    const { of } = await doctor([], {}, cwd);
    const fixes = of('key').map(({ fix }) => /fits its own control plane only/.test(fix ?? ''));
    expect(fixes).toEqual([true, false, false, false]);
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

  it('ask for nothing where the control plane says that what it kept was dealt with', () => {
    const late = { ...report('complete', true), open: false };
    expect(checkStale('/s', 1, [late])).toMatchObject({
      state: 'ok',
      says: expect.stringContaining('what the control plane kept of them was dealt with'),
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
    const { states, of } = await doctor(['--url', `https://127.0.0.1:${port}`], key);
    expect(states).toMatchObject({ name: 'ok', connect: 'ok', tls: 'fail' });
    expect(of('tls')[0]?.fix).toMatch(/^Give the address with http:/);
    const shown = await interlock(['tasks', 'list', '--url', `https://127.0.0.1:${port}`], {
      env: { INTERLOCK_PRODUCER_KEY: `il_${'a'.repeat(43)}` },
    });
    expect(shown.err).toMatch(/next +Write the address with http:/);
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
    // Spoken to without TLS.
    const plain = await doctor(['--url', `http://127.0.0.1:${port}`], key);
    expect(plain.of('contract')[0]?.fix).toMatch(/^Give the address with https:/);
    const shown = await interlock(['tasks', 'list', '--url', `http://127.0.0.1:${port}`], {
      env: { INTERLOCK_PRODUCER_KEY: `il_${'a'.repeat(43)}` },
    });
    expect(shown.err).toMatch(/that port may speak TLS: then its address begins with https:/);
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
    troubles: [] as { workerId: string; says: string }[],
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
    const says = 'demo/hello@1 is paused for 8 s: it failed here for reasons of this host';
    expect(states({ troubles: [{ workerId: 'garage', says }] })).toContain(`warn garage: ${says}`);
    const fixOf = (says: string) =>
      checkService({ ...answer, troubles: [{ workerId: 'garage', says }] } as typeof answer).find(
        ({ name }) => name === 'worker',
      )?.fix;
    expect(fixOf(says)).toMatch(/^Mend that on the machine of garage; the type is tried again/);
    const full = 'claims nothing: the spool /s cannot be written (ENOSPC). The disk is full: free';
    expect(fixOf(full)).toBe(
      'Do what is said there on the machine of garage: it goes on by itself then.',
    );
    expect(fixOf('1 handler does not go and keeps its slot')).toContain('or restart');
    const loading =
      'my/slow@1 is not served: my/slow@1.mjs: it is still loading. Wait: it is served';
    expect(fixOf(loading)).toBe('Do what is said there on the machine of garage.');
    const again = 'my/a@1 is not served: my/a@1.mjs: it throws. Then send SIGHUP again.';
    expect(fixOf(again)).not.toContain('by itself');
    const ended =
      'was last heard with the key "gw2", which was revoked at 2026-01-01T00:00:01.000Z: give it a new one, in its key file or, where it has none, in INTERLOCK_WORKER_KEY and with a new start';
    expect(fixOf(ended)).toContain(
      'keys new "garage" --kind task-worker, and put it into the key file on the machine of garage',
    );
    expect(fixOf(ended)).toContain('from INTERLOCK_WORKER_KEY needs it there, and a new start');
    const [, workers] = checkService({
      ...answer,
      workers: { ready: 0, full: 0, draining: 0, offline: 1 },
      troubles: [{ workerId: 'garage', says: ended }],
    } as typeof answer);
    expect(workers?.fix).toMatch(/^Give garage a key \(see below\)/);
    const none = { ready: 0, full: 0, draining: 0, offline: 0 };
    expect(states({ workers: none, outboxDebt: 3 })).toEqual([
      'ok empty',
      'warn none is online',
      'warn 3 callbacks or hints are not yet delivered',
    ]);
    expect(states({ workers: none, queueDepth: 2 })[1]).toBe(
      'fail none is online, and 2 tasks wait',
    );
    expect(checkService(undefined).map(({ state, says }) => `${state} ${says}`)).toEqual(
      Array(3).fill('skip no key was accepted'),
    );
    expect(checkService(undefined, false)[0]?.says).toBe('the control plane was not reached');
  });
});

describe('the spool', () => {
  const sound: SpoolInspection = {
    folder: '/s',
    exists: true,
    readable: { ok: true },
    writable: { ok: true, tookMs: 4 },
    owner: { workerId: 'w', pid: 7, hostName: 'h', since: '2026-01-01T00:00:00Z', state: 'alive' },
    oldSessions: [],
    reserveBytes: 4_194_304,
    pending: 0,
    bytes: 0,
    oldestMs: null,
    running: 0,
    setAside: { stale: 0, refused: 0, corrupt: 0 },
    corruptLines: [],
    newer: 0,
    unreadable: [],
  } as SpoolInspection;
  const found = (given: Partial<SpoolInspection>, around: SpoolSurroundings = {}) =>
    checkSpool({ ...sound, ...given }, around).filter(
      ({ state }) => state !== 'ok' && state !== 'skip',
    );

  it('is sound where nothing is wrong', () => {
    expect(found({})).toEqual([]);
  });

  it('says of the attempts of a worker that has gone that they were in work', () => {
    const debt = (given: Partial<SpoolInspection>) =>
      checkSpool({ ...sound, running: 1, ...given }, {}).find(({ name }) => name === 'spool debt');
    expect(debt({})?.says).toBe('every report has been answered; 1 attempt is in work');
    const owner = { ...sound.owner, state: 'gone' } as SpoolInspection['owner'];
    expect(debt({ owner })?.says).toBe(
      'every report has been answered; 1 attempt was in work when its worker ended: the next start tells it as lost',
    );
  });

  it('says how its worker is refused, without the key, and what to do about it', () => {
    const why = `the control plane refused our key or address (401 UNAUTHENTICATED): The key "gw2" was revoked il_${'a'.repeat(43)}`;
    const refusal = { at: '2026-01-01T00:00:00Z', why };
    const [one, debt] = found({ refusal, pending: 1, oldestMs: 90_000 });
    expect(one).toMatchObject({ name: 'spool refusal', state: 'warn' });
    expect(one?.says).toContain('since 2026-01-01T00:00:00Z: the control plane refused our key');
    expect(one?.says).not.toContain('aaaa');
    expect(one?.fix).toMatch(/^Put a key that is good into its key file/);
    expect(debt?.fix).toContain('refuses it until that is mended');
    const owner = { ...sound.owner, state: 'closed' } as SpoolInspection['owner'];
    expect(found({ refusal, owner })[0]?.fix).toMatch(/^Start the worker with a key that is good/);
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

  const GB = 2 ** 30;
  const disk = { kind: 'disk', name: 'ext4', freeBytes: 75 * GB, freeFiles: 1e6 } as const;
  const syncs = [1.2, 0.8, 0.9];

  it('on a sound disk is told with its kind, its room and the time of fsync', () => {
    const says = checkSpool(sound, { storage: disk, syncs }).map(({ says }) => says);
    expect(says).toContain('ext4, 75 GB free');
    expect(says).toContain('it takes 0.9 ms (median of 3), at most 1.2 ms');
    expect(says).toContain('4 MB are kept for what runs when the disk is full');
    expect(found({}, { storage: disk, syncs })).toEqual([]);
    expect(found({}, { storage: { kind: 'unknown', name: 'x', freeBytes: GB }, syncs })).toEqual(
      [],
    );
  });

  it.each<[string, SpoolSurroundings, RegExp]>([
    [
      'in memory',
      { storage: { ...disk, kind: 'memory', name: 'tmpfs' }, syncs: [0.001] },
      /in memory \(tmpfs\)/,
    ],
    [
      'in a container',
      { storage: { ...disk, kind: 'overlay', name: 'overlay' } },
      /layer of a container/,
    ],
    [
      'on a network',
      { storage: { ...disk, kind: 'network', name: 'nfs' } },
      /network file system \(nfs\)/,
    ],
    [
      'in user space',
      { storage: { ...disk, kind: 'user-space', name: 'fuse' } },
      /a program is the file system \(fuse\)/,
    ],
    [
      'on a disk that is nearly full',
      { storage: { ...disk, freeBytes: 2 ** 20 } },
      /only 1 MB are free/,
    ],
    ['on a disk with few inodes', { storage: { ...disk, freeFiles: 12 } }, /only 12 more files/],
    [
      'on a disk that lies',
      { storage: disk, syncs: [0.002, 0.001, 0.9] },
      /0\.002 ms .+ faster than a disk can be/,
    ],
    [
      'on a slow disk',
      { storage: disk, syncs: [300, 400, 900] },
      /400 ms .+ at most 900 ms: each report waits/,
    ],
    [
      'with hosts of before',
      { hosts: [{ pid: 7 }, { pid: 8 }] },
      /2 handler processes .+ still run: 7, 8/,
    ],
  ])('%s is a warning, one', (_what, around, words) => {
    expect(found({}, around)).toEqual([
      {
        name: expect.any(String),
        state: 'warn',
        says: expect.stringMatching(words),
        fix: expect.any(String),
      },
    ]);
  });

  it('without its reserve tells that the disk was full, while a worker runs', () => {
    expect(found({ reserveBytes: undefined })).toMatchObject([
      { name: 'spool reserve', state: 'warn', says: 'it was given up: the disk was full' },
    ]);
    const closed = { ...sound.owner, state: 'closed' } as SpoolInspection['owner'] & object;
    expect(found({ reserveBytes: undefined, owner: closed })).toEqual([]);
  });

  it('in memory is found to be so, and nothing is left of the probes', async () => {
    if (process.platform !== 'linux') return;
    const folder = mkdtempSync('/dev/shm/interlock-doctor-');
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const { spool } = await openGarage(folder);
    const before = readdirSync(folder).sort();
    const { code, states, of } = await doctor(['--spool', folder], {});
    expect(readdirSync(folder).sort()).toEqual(before);
    expect(of('spool disk')).toMatchObject([
      { state: 'warn', says: expect.stringContaining('in memory (tmpfs)') },
    ]);
    expect(states).toMatchObject({
      'spool write': 'ok',
      'spool fsync': 'ok',
      'spool reserve': 'ok',
    });
    expect(code).toBe(20); // The address, not the spool.
    await spool.writeReport(complete('after'), META);
    expect(spool.stats()).toMatchObject({ ok: true });
    await spool.close();
  });

  it('tells handler processes of a session that is over, and what will end them', async () => {
    if (process.platform === 'win32') return;
    const { folder, spool } = await openGarage();
    const { sessionId } = JSON.parse(readFileSync(join(folder, 'owner.json'), 'utf8'));
    await spool.close();
    const left = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
      env: { [MARKER_VARIABLE]: sessionId },
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    onTestFinished(() => void left.kill('SIGKILL'));
    await new Promise((resolve) => left.once('spawn', resolve));
    const { of } = await doctor(['--spool', folder], {});
    expect(of('spool hosts')).toMatchObject([
      {
        state: 'warn',
        says: `a handler process of an earlier session still runs: ${left.pid}`,
        fix: expect.stringContaining('The next start of the worker ends them'),
      },
    ]);
    const gone = new Promise((resolve) => left.once('exit', resolve));
    left.stdin.end();
    await gone;
    expect((await doctor(['--spool', folder], {})).of('spool hosts')).toEqual([]);
  });

  it('fails for what was refused or corrupt, not for what was stale, and names the command', async () => {
    const plane = await startPlane();
    const env = plane.env('task-producer');
    const { folder, spool } = await fullSpool();
    await spool.close();
    const { code, of } = await doctor(['--spool', folder], env);
    expect(code).toBe(20);
    expect(of('spool refused')).toMatchObject([
      {
        state: 'fail',
        fix: expect.stringMatching(
          /^interlock spool list --state refused --spool .+ tsk_large cannot be delivered any more.+interlock spool show tsk_large --full --json --spool .+ discard tsk_large --spool /,
        ),
      },
    ]);
    expect(of('spool stale')).toMatchObject([{ state: 'warn' }]);
    expect(of('spool damage')).toMatchObject([
      {
        state: 'fail',
        fix: expect.stringContaining('interlock spool list --state corrupt --spool /'),
      },
    ]);
    for (const state of ['refused', 'corrupt'])
      await interlock(['spool', 'discard', '--all', '--state', state, '--yes', '--spool', folder]);
    const after = await doctor(['--spool', folder], env);
    expect(after.code).toBe(0);
    expect(after.states).toMatchObject({ 'spool stale': 'warn', 'spool damage': 'ok' });
  });

  it('is no folder that no worker has used, and the one of npm start is named', async () => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'spool'));
    const named = await doctor(['--spool', join(cwd, 'spool')], {});
    expect(named.of('spool')).toMatchObject([
      { state: 'fail', says: expect.stringContaining('is no spool: no worker has used it') },
    ]);
    expect(readdirSync(join(cwd, 'spool'))).toEqual([]);
    const { spool } = await openGarage(join(cwd, '.interlock/spool'));
    await spool.close();
    const { out } = await interlock(['tasks', 'doctor'], { cwd });
    expect(out).toMatch(/skip {2}spool .+ \S*interlock tasks doctor --spool \.interlock\/spool\n/);
  });

  it('advises no late report that the control plane does not offer any more', async () => {
    const plane = await startPlane();
    const env = plane.env('task-producer');
    const submitted = await interlock(['tasks', 'submit', 'demo/hello', '--json'], { env });
    const taskId = JSON.parse(submitted.out).id;
    const { folder, spool } = await openGarage();
    const late = await spool.writeReport({ ...complete('late'), taskId }, META);
    const problem = { code: 'STALE_ATTEMPT', recorded: true };
    await spool.setAside(late, 'stale', { status: 409, problem });
    await spool.close();
    expect((await doctor(['--spool', folder], env)).of('spool stale')).toMatchObject([
      { state: 'ok', says: expect.stringContaining('was dealt with') },
    ]);
    const away = await doctor(['--spool', folder], {});
    expect(away.of('spool stale')).toMatchObject([
      {
        state: 'warn',
        fix: expect.stringContaining(
          `interlock tasks resolve ${taskId} --as late-report --reason "…"`,
        ),
      },
    ]);
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
      'spool fsync': expect.stringMatching(/ok|warn/),
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
