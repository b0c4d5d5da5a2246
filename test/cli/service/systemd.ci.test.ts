import { chownSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { World } from '../../e2e/world.ts';
import { Machine } from './machine.ts';

// A whole machine starts, on one that others keep busy.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

/** The service under a real systemd, which is process 1 of namespaces. One after the other: they are its life. */
const why = Machine.cannot();
if (why !== undefined) console.info(`Skipped: a worker under a real systemd, since ${why}.`);

const UNIT = 'interlock-worker.service';
const WHERE = (version: number) => `
import { writeFileSync } from 'node:fs';
export const effectSafety = 'pure';
export default async ({ waitMs = 0 }) => {
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  const tried = {};
  for (const file of ['/srv/here', '/etc/here', '/var/tmp/here', process.env.HOME + '/here'])
    try { writeFileSync(file, ''); tried[file] = 'written'; } catch ({ code }) { tried[file] = code; }
  const { NOTIFY_SOCKET, WATCHDOG_USEC, CREDENTIALS_DIRECTORY } = process.env;
  return { version: ${version}, uid: process.getuid(), told: { NOTIFY_SOCKET, WATCHDOG_USEC, CREDENTIALS_DIRECTORY }, tried };
};
`;

describe.skipIf(why !== undefined)('a worker under systemd', () => {
  const world = new World();
  let machine: Machine;
  let installArgs: string[];

  beforeAll(async () => {
    const booted = await Machine.boot();
    if (typeof booted === 'string') throw new Error(booted);
    machine = booted;
    await world.controlPlane('task-worker', 'task-producer', 'task-operator');
    machine.put('/srv/key', `${world.key('task-worker')}\n`, 0o600);
    machine.put('/srv/handlers/demo/where@1.mjs', WHERE(1));
    installArgs = [
      ...['service', 'install', '--url', world.url, '--key-file', '/srv/key'],
      ...['--handlers', '/srv/handlers', '--worker-id', 'garage', '--max-concurrent', '1'],
    ];
  });
  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  async function where(input: { waitMs?: number } = {}, pool = 'default') {
    const task = await world.producer.submit('demo/where', 1, input, { pool });
    if (task.stored) throw new Error('It has no outbox.');
    return { task, result: () => world.producer.await(task.id, { timeoutMs: 60_000 }) };
  }

  it('is installed, and ready once systemctl has started it', async () => {
    const { code, err } = await machine.worker(...installArgs);
    expect(err).toMatch(/is installed, runs, and starts with the machine\.\n$/);
    expect(code).toBe(0);
    expect(
      await machine.show(UNIT, 'ActiveState', 'UnitFileState', 'DynamicUser', 'NotifyAccess'),
    ).toEqual({
      ActiveState: 'active',
      UnitFileState: 'enabled',
      DynamicUser: 'yes',
      NotifyAccess: 'all',
    });
    expect((await machine.worker(...installArgs)).err).toContain('nothing has changed');
    const text = await machine.until(UNIT, 'StatusText', (value) => value.startsWith('Ready:'));
    expect(text).toBe('Ready: 0 of 1 slot busy.');
  });

  it('runs handlers shut in, as a user of its own that hears nothing of systemd', async () => {
    const ended = await (await where()).result();
    expect(ended).toMatchObject({ status: 'succeeded' });
    const { uid, told, tried } = ended.result as { uid: number; told: object; tried: object };
    // Of DynamicUser.
    expect(uid).toBeGreaterThanOrEqual(61_184);
    expect(told).toEqual({});
    expect(Object.values(tried)).not.toContain(undefined);
    expect(tried).toMatchObject({
      '/srv/here': 'EROFS',
      '/etc/here': 'EROFS',
      '/var/tmp/here': 'written',
    });
    const status = await machine.worker('service', 'status', '--json');
    expect(JSON.parse(status.out)).toMatchObject({
      running: true,
      startsWithMachine: true,
      owed: { kind: 'counted' },
    });
    expect(status.code).toBe(0);
    expect((await machine.worker('service', 'logs')).out).toContain('worker.ready');
  });

  it('reads its handlers again on a reload, and systemd knows when that is over', async () => {
    machine.put('/srv/handlers/demo/where@1.mjs', WHERE(2));
    expect((await machine.run(['systemctl', 'reload', UNIT])).code).toBe(0);
    await machine.until(UNIT, 'StatusText', (value) => !/^Reading|^Ready: /.test(value));
    await machine.until(UNIT, 'ActiveState', (value) => value === 'active');
    expect((await (await where()).result()).result).toMatchObject({ version: 2 });
  });

  it('is started again when it is killed', async () => {
    const { MainPID: pid = '' } = await machine.show(UNIT, 'MainPID');
    await machine.run(['kill', '-KILL', pid]);
    await machine.until(UNIT, 'NRestarts', (value) => value === '1');
    await machine.until(UNIT, 'ActiveState', (value) => value === 'active');
    expect(await (await where()).result()).toMatchObject({ status: 'succeeded' });
  });

  it('is started again when it stands still and its watchdog starves', async () => {
    machine.put(`/etc/systemd/system/${UNIT}.d/soon.conf`, '[Service]\nWatchdogSec=3s\n');
    await machine.run(['systemctl', 'daemon-reload']);
    await machine.run(['systemctl', 'restart', UNIT]);
    const before = await machine.show(UNIT, 'MainPID', 'NRestarts');
    // As a process that hangs in a loop: it takes no signal that it could answer.
    await machine.run(['kill', '-STOP', before.MainPID ?? '']);
    await machine.until(UNIT, 'Result', (value) => value === 'watchdog');
    await machine.until(UNIT, 'NRestarts', (value) => Number(value) > Number(before.NRestarts));
    await machine.until(UNIT, 'ActiveState', (value) => value === 'active');
    rmSync(machine.inside(`/etc/systemd/system/${UNIT}.d`), { recursive: true });
    await machine.run(['systemctl', 'daemon-reload']);
    await machine.run(['systemctl', 'restart', UNIT]);
  });

  it('is not started again when another worker has taken over its id', async () => {
    const before = await machine.show(UNIT, 'NRestarts');
    const other = await world.worker({ id: 'garage' });
    await machine.until(UNIT, 'ActiveState', (value) => value === 'failed');
    expect(await machine.show(UNIT, 'ExecMainStatus', 'NRestarts')).toEqual({
      ExecMainStatus: '80',
      ...before,
    });
    const status = await machine.worker('service', 'status');
    expect(status.code).toBe(89);
    expect(status.out).toContain('ended    80: superseded.');
    other.kill('SIGTERM');
    await other.ending();
    expect((await machine.worker(...installArgs)).err).toContain('was down and runs again');
  });

  it('drains when it is removed: what runs comes to its end, and the spool stays', async () => {
    const { task, result } = await where({ waitMs: 3_000 });
    await world.entry(task.id, 'started');
    const { code, err } = await machine.worker('service', 'uninstall');
    expect(err).toContain('Its spool stays in /var/lib/interlock/spool/garage (nothing is owed).');
    expect(code).toBe(0);
    expect(await result()).toMatchObject({ status: 'succeeded', attempts: 1 });
    expect((await machine.show(UNIT, 'LoadState')).LoadState).toBe('not-found');
    expect(existsSync(machine.inside('/var/lib/interlock/spool/garage/owner.json'))).toBe(true);
    // As docs/service.md says: root looks, the service's own user changes.
    const list = await machine.worker(
      'spool',
      'list',
      '--spool',
      '/var/lib/interlock/spool/garage',
    );
    expect(list).toMatchObject({ code: 0, err: expect.stringContaining('gave it back in order') });
    // As systemd-run would make it; that wants a bus, which this machine has not.
    machine.put(
      '/etc/systemd/system/retry.service',
      [
        ...[
          '[Service]',
          'Type=oneshot',
          'DynamicUser=yes',
          'User=interlock-worker',
          'StateDirectory=interlock',
        ],
        'ExecStart=/opt/interlock/bin/interlock-worker spool retry --all --worker-id garage',
      ].join('\n'),
    );
    await machine.run(['systemctl', 'daemon-reload']);
    const retried = await machine.run(['systemctl', 'start', 'retry.service']);
    expect(retried.code, await machine.log('retry.service')).toBe(0);
  });

  it('starts without a control plane, with words that mean something else to others, as a user that is there', async () => {
    const folder = '/srv/my "own" $HOME/%h ü;#';
    const spool = '/srv/sp ool 100%';
    machine.put(`${folder}/demo/where@1.mjs`, WHERE(1));
    machine.put('/srv/kéy %i', `${world.key('task-worker')}\n`, 0o600);
    machine.put('/srv/100% [a]*?\\b.env', 'OF_A_FILE=yes\n', 0o600);
    mkdirSync(machine.inside(spool), { mode: 0o700 });
    chownSync(machine.inside(spool), 1, 1);
    const { code, err } = await machine.worker(
      ...[
        'service',
        'install',
        '--name',
        'b',
        '--url',
        'http://127.0.0.1:9',
        '--key-file',
        '/srv/kéy %i',
      ],
      ...[
        '--handlers',
        folder,
        '--spool',
        spool,
        '--run-as',
        'daemon',
        '--group',
        'video',
        '--gpu',
      ],
      ...['--worker-id', 'b', '--environment-file', '/srv/100% [a]*?\\b.env'],
    );
    expect(err).toMatch(/could not be tried.*\n.*is installed, runs/);
    expect(code).toBe(0);
    const { MainPID: pid = '' } = await machine.show('interlock-worker-b.service', 'MainPID');
    const ready = (await machine.log('interlock-worker-b.service'))
      .split('\n')
      .find((line) => line.includes('worker.ready'));
    expect(JSON.parse(ready ?? '')).toMatchObject({
      workerId: 'b',
      spool,
      handlers: ['demo/where@1'],
    });
    const { out } = await machine.run(['cat', `/proc/${pid}/environ`]);
    expect(out).toContain('OF_A_FILE=yes');
    expect(readFileSync(machine.inside(`${spool}/owner.json`), 'utf8')).toContain('"b"');
    expect(
      (await machine.worker('service', 'uninstall', '--name', 'b', '--purge', '--yes')).code,
    ).toBe(0);
    expect(existsSync(machine.inside(spool))).toBe(false);
  });

  it('is a service of one user too, under that user’s own manager', async () => {
    const home = '/srv/ada';
    const [uid, gid] = [1, 1];
    machine.put(`${home}/handlers/demo/where@1.mjs`, WHERE(1));
    machine.put(`${home}/key`, `${world.key('task-worker')}\n`, 0o600);
    await machine.run(['chown', '-R', `${uid}:${gid}`, home]);
    await machine.run(['install', '-d', '-m', '700', '-o', String(uid), '/run/user/1']);
    const mine = [`HOME=${home}`, 'XDG_RUNTIME_DIR=/run/user/1'];
    // As a login would start it.
    const manager = await machine.run([
      ...['systemd-run', '--quiet', '--unit=manager', '--property=Delegate=yes', `--uid=${uid}`],
      ...mine.map((variable) => `--setenv=${variable}`),
      ...['/lib/systemd/systemd', '--user', '--unit=default.target'],
    ]);
    expect(manager.err).toBe('');
    const asAda = (...argv: string[]) =>
      machine.run([
        'setpriv',
        `--reuid=${uid}`,
        `--regid=${gid}`,
        '--clear-groups',
        'env',
        ...mine,
        ...argv,
      ]);
    const worker = (...words: string[]) => asAda('/opt/interlock/bin/interlock-worker', ...words);
    await expect
      .poll(async () => (await asAda('systemctl', '--user', 'is-system-running')).out, {
        timeout: 30_000,
      })
      .toMatch(/running|degraded/);
    const { code, err } = await worker(
      ...['service', 'install', '--user', '--url', world.url, '--key-file', `${home}/key`],
      ...['--handlers', `${home}/handlers`, '--worker-id', 'ada', '--pool', 'ada'],
    );
    expect(err).toMatch(/is installed, runs.*\n.*enable-linger/);
    expect(code).toBe(0);
    const ended = await (await where({}, 'ada')).result();
    expect(ended).toMatchObject({ status: 'succeeded', result: { uid, told: {} } });
    // That its report was answered is marked on the disk a moment later.
    await expect
      .poll(async () => (await worker('service', 'status', '--user')).out, { timeout: 10_000 })
      .toContain(`nothing is owed, in ${home}/.local/state/interlock/spool/ada`);
    expect((await asAda('systemctl', '--user', 'reload', UNIT)).code).toBe(0);
    const gone = await worker('service', 'uninstall', '--user', '--purge', '--yes');
    expect(gone.err).toMatch(/is stopped and removed\. Its spool \S+ is removed too\./);
    expect(existsSync(machine.inside(`${home}/.config/systemd/user/${UNIT}`))).toBe(false);
  });
});
