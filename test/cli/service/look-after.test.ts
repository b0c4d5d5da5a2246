import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { exitCodes } from '../../../src/cli/exit-codes.ts';
import { owedIn } from '../../../src/cli/service/owed.ts';
import { startPlane } from '../plane.ts';
import { complete, META, openGarage } from '../spool-world.ts';
import { temporaryFolder } from '../world.ts';
import { serviceMachine } from './world.ts';

/** `service status`, `logs` and `uninstall` of one that is installed. */
const UNIT = '/etc/systemd/system/interlock-worker.service';
const SPOOL = '/var/lib/interlock/spool/garage';

async function installed() {
  const plane = await startPlane();
  const made = serviceMachine();
  made.put(made.key, plane.key('task-worker'), 0o600);
  const done = await made.run([
    ...['worker', 'service', 'install', '--url', plane.url, '--key-file', made.key],
    ...['--handlers', '/srv/handlers', '--worker-id', 'garage'],
  ]);
  expect(done.code).toBe(0);
  made.forget();
  return made;
}

/** A spool that a worker has left with one report which nobody has answered. */
async function owingSpool(root: string) {
  const folder = join(root, SPOOL);
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
  const { spool } = await openGarage(folder);
  await spool.writeReport(complete('one'), META);
  await spool.close();
  return folder;
}

function shown(bin: string, properties: Record<string, string>): void {
  const lines = Object.entries(properties).map(([name, value]) => `${name}=${value}`);
  writeFileSync(join(bin, 'shown'), `${lines.join('\n')}\n`);
}

it('tells people and programs how the service is, with its exit', async () => {
  const { run, bin } = await installed();
  shown(bin, {
    ActiveState: 'active',
    SubState: 'running',
    UnitFileState: 'enabled',
    StatusText: 'Ready: 0 of 2 slots busy.',
    MainPID: '4711',
    ActiveEnterTimestamp: 'Mon 2026-11-30 04:06:17 UTC',
    NRestarts: '2',
    MemoryCurrent: '73400320',
    ExecMainStatus: '0',
    Result: 'success',
  });
  const { code, out } = await run(['worker', 'service', 'status']);
  expect(code).toBe(0);
  expect(out.split('\n')).toEqual([
    'interlock-worker.service (worker garage) runs.',
    'manager  active (running), process 4711, since Mon 2026-11-30 04:06:17 UTC, restarted 2 times, 70 MB',
    'worker   Ready: 0 of 2 slots busy.',
    `spool    it has no spool yet, in ${SPOOL}`,
    `file     ${UNIT}`,
    '',
  ]);
  const json = JSON.parse((await run(['worker', 'service', 'status', '--json'])).out);
  expect(json).toMatchObject({ running: true, pid: 4711, restarts: 2, owed: { kind: 'none' } });
});

it('tells why a service is down, by the name of its exit code', async () => {
  const { run, bin } = await installed();
  shown(bin, {
    ActiveState: 'failed',
    SubState: 'failed',
    UnitFileState: 'disabled',
    MainPID: '0',
    MemoryCurrent: '[not set]',
    ExecMainStatus: '80',
    Result: 'exit-code',
  });
  const { code, out } = await run(['worker', 'service', 'status']);
  expect(code).toBe(exitCodes['service-failed'].code);
  expect(out).toContain('does not run. It does NOT start with the machine.');
  expect(out).toContain('ended    80: superseded. Another process has taken over this worker id.');
});

it('shows the log with what was asked for', async () => {
  const { run, calls } = await installed();
  expect(await run(['worker', 'service', 'logs', '-f', '-n', '7'])).toMatchObject({
    code: 0,
    out: 'a line of the log\n',
  });
  expect(calls()).toEqual([
    'journalctl --unit interlock-worker.service --lines 7 --follow --no-pager --output cat',
  ]);
  expect((await run(['worker', 'service', 'logs', '-n', 'x'])).code).toBe(exitCodes.usage.code);
});

it('says that there is none', async () => {
  const { run } = serviceMachine();
  for (const word of ['status', 'logs'])
    expect(await run(['worker', 'service', word])).toMatchObject({
      code: exitCodes['not-found'].code,
      err: expect.stringContaining('There is no service interlock-worker.service'),
    });
  expect(await run(['worker', 'service', 'uninstall'])).toMatchObject({ code: 0 });
});

it('drains, removes what it has written, keeps the spool and says where it is', async () => {
  const { root, run, calls, put } = await installed();
  const spool = await owingSpool(root);
  put('/etc/systemd/system/interlock-worker.service.d/mine.conf', '[Service]\n');
  const { code, err } = await run(['worker', 'service', 'uninstall']);
  expect(code).toBe(0);
  expect(err).toMatch(/drains: handlers that run may go on/);
  expect(err).toContain(`Its spool stays in ${SPOOL} (1 owed).`);
  expect(calls()).toEqual([
    'systemctl is-active --quiet interlock-worker.service',
    'systemctl stop interlock-worker.service',
    'systemctl disable interlock-worker.service',
    'systemctl daemon-reload',
  ]);
  expect(existsSync(join(root, UNIT))).toBe(false);
  expect(existsSync(spool)).toBe(true);
  expect(existsSync(join(root, '/etc/systemd/system/interlock-worker.service.d/mine.conf'))).toBe(
    true,
  );
});

it('removes the spool only after a yes, and never while something in it was not delivered', async () => {
  const { root, run } = await installed();
  const spool = await owingSpool(root);
  const nobody = await run(['worker', 'service', 'uninstall', '--purge']);
  expect(nobody).toMatchObject({ code: exitCodes.usage.code });
  expect(nobody.err).toContain('there is nobody to ask');
  const owing = await run(['worker', 'service', 'uninstall', '--purge', '--yes']);
  expect(owing).toMatchObject({ code: exitCodes.conflict.code });
  expect(owing.err).toMatch(/is not removed: 1 owed\. .* is stopped, and still installed/);
  expect(existsSync(join(root, UNIT))).toBe(true);
  for (const file of readdirSync(join(spool, 'reports'))) rmSync(join(spool, 'reports', file));
  const asked = { terminal: { out: true, err: true, in: true } };
  expect(
    (await run(['worker', 'service', 'uninstall', '--purge'], { ...asked, input: 'n\n' })).code,
  ).toBe(64);
  expect(existsSync(spool)).toBe(true);
  const { code, err } = await run(['worker', 'service', 'uninstall', '--purge'], {
    ...asked,
    input: 'y\n',
  });
  expect(err).toContain(`Its spool ${SPOOL} is removed too.`);
  expect(code).toBe(0);
  expect(existsSync(spool)).toBe(false);
});

it('removes of a spool only what a worker makes, and nothing where its user has put a link', async () => {
  const { root, run, put } = await installed();
  const spool = await owingSpool(root);
  for (const file of readdirSync(join(spool, 'reports'))) rmSync(join(spool, 'reports', file));
  put(`${SPOOL}/photos/a.jpg`, 'a');
  put('/srv/victim/reports/of-somebody', 'b');
  rmSync(join(spool, 'stale'), { recursive: true, force: true });
  symlinkSync(join(root, '/srv/victim'), join(spool, 'stale'));
  const purge = ['worker', 'service', 'uninstall', '--purge', '--yes'];
  expect((await run(purge)).err).toContain('is a symbolic link, which is not followed');
  rmSync(join(spool, 'stale'));
  const { code, err } = await run(purge);
  expect(err).toContain('what else lies there (photos) stays');
  expect(code).toBe(0);
  expect(readdirSync(spool)).toEqual(['photos']);
  expect(existsSync(join(root, '/srv/victim/reports/of-somebody'))).toBe(true);
});

it('touches no folder that never was a spool, also where it has reports', async () => {
  const { root, run, put } = await installed();
  put(`${SPOOL}/reports/2026/of-somebody`, 'b');
  const { code, err } = await run(['worker', 'service', 'uninstall', '--purge', '--yes']);
  expect(err).toContain('nothing was touched');
  expect(code).toBe(0);
  expect(existsSync(join(root, SPOOL, 'reports/2026/of-somebody'))).toBe(true);
});

it('says that a spool may not be looked at, rather than that there is none', async () => {
  const blocked = temporaryFolder();
  // What root may not do either.
  mkdirSync(join(blocked, 'a'.repeat(255)));
  const far = join(blocked, ...Array.from({ length: 20 }, () => 'a'.repeat(255)));
  expect(await owedIn(far, '')).toEqual({
    kind: 'unknown',
    why: expect.stringMatching(/may not be looked at \(ENAMETOOLONG\)/),
  });
  expect(await owedIn(join(blocked, 'none'), '')).toEqual({ kind: 'none' });
});

it('leaves a key file that lies where a copy would, and that it did not write', async () => {
  const { root, run, key, put } = await installed();
  const file = '/etc/interlock/interlock-worker.key';
  const unit = readFileSync(join(root, UNIT), 'utf8');
  writeFileSync(join(root, UNIT), unit.replaceAll(key, file));
  put(file, 'il_mine', 0o600);
  expect((await run(['worker', 'service', 'uninstall'])).code).toBe(0);
  expect(existsSync(join(root, file))).toBe(true);
});

it('does nothing with --dry-run', async () => {
  const { root, run, calls } = await installed();
  const { code, out } = await run(['worker', 'service', 'uninstall', '--dry-run']);
  expect(code).toBe(0);
  expect(out).toContain('# systemctl stop interlock-worker.service');
  expect(calls()).toEqual([]);
  expect(readFileSync(join(root, UNIT), 'utf8')).toContain('[Service]');
});
