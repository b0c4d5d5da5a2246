import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { placeOf } from '../../../src/cli/update/place.ts';
import { VERSION } from '../../../src/contract/version.ts';
import { installed, untouched } from './installed.ts';
import { putExecutable, target, text, versionOf } from './releases.ts';
import { brokenExecutable, fakeSystemd, tellingExecutable, workingExecutable } from './service.ts';

const posix = process.platform !== 'win32';
if (!posix) console.log('Services are not tried here: the executables are shell scripts.');

describe.skipIf(!posix)('a service that runs the executable', () => {
  it('is restarted by an update, and has to be ready', async () => {
    const world = installed();
    const systemd = fakeSystemd(world.cwd, world.exe);
    await world.release('0.2.0', { [target]: workingExecutable('0.2.0') });
    const done = await world.run(['--from', 'release', '--json'], {
      ...systemd.env,
      PATH: `${systemd.bin}:/usr/bin:/bin`,
    });
    expect(done).toMatchObject({ code: 0 });
    expect(JSON.parse(done.out)).toMatchObject({
      did: 'updated',
      services: ['interlock-worker.service'],
    });
    expect(systemd.calls().filter((call) => / restart /.test(` ${call} `))).toHaveLength(1);
    expect(systemd.pid()).toBeGreaterThan(0);
  });

  it('gets the previous version back when it does not become ready', async () => {
    const world = installed();
    writeFileSync(world.exe, workingExecutable(VERSION));
    putExecutable(`${world.exe}.previous`, '0.0.9');
    const systemd = fakeSystemd(world.cwd, world.exe);
    await world.release('0.2.0', { [target]: brokenExecutable('0.2.0') });
    const done = await world.run(['--from', 'release', '--json'], {
      ...systemd.env,
      PATH: `${systemd.bin}:/usr/bin:/bin`,
    });
    const { error } = JSON.parse(done.err.trim().split('\n').at(-1) ?? '');
    expect(error).toMatchObject({ code: 'UPDATE_ROLLED_BACK', exitCode: 91 });
    expect(error.message).toContain('Version 0.1.0 was put back and runs again');
    expect(error.message).toContain('the spool is of a later form');
    expect(await versionOf(world.exe)).toBe(VERSION);
    expect(text(join(world.cwd, 'systemd', 'active'))).toBe('active\n');
    // As it was before, what was kept of an earlier update too.
    expect(readdirSync(join(world.cwd, 'install here')).sort()).toEqual([
      'interlock-worker',
      'interlock-worker.previous',
    ]);
    expect(await versionOf(`${world.exe}.previous`)).toBe('0.0.9');
  });

  it('that was ready has to say so again at its status port, or the previous version comes back', async () => {
    const world = installed();
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as AddressInfo;
    free.close();
    writeFileSync(world.exe, tellingExecutable(VERSION, 200));
    const systemd = fakeSystemd(world.cwd, world.exe, {
      args: `--status-listen 127.0.0.1:${port}`,
    });
    const env = { ...systemd.env, PATH: `${systemd.bin}:/usr/bin:/bin` };
    execFileSync(join(systemd.bin, 'systemctl'), ['restart', 'interlock-worker'], { env });
    await world.release('0.2.0', { [target]: tellingExecutable('0.2.0', 503) });
    const done = await world.run(['--from', 'release', '--ready-within', '1s'], env);
    expect(done.err).toContain('/readyz answers 503: no claim has succeeded');
    expect(done.err).toContain('Version 0.1.0 was put back and runs again');
    expect(done.code).toBe(91);
    expect(await versionOf(world.exe)).toBe(VERSION);
    // Where it was not ready before either, its running has to do.
    writeFileSync(world.exe, tellingExecutable(VERSION, 503));
    execFileSync(join(systemd.bin, 'systemctl'), ['restart', 'interlock-worker'], { env });
    const again = await world.run(['--from', 'release', '--ready-within', '1s'], env);
    expect(again.err).toContain('is not ready before the update');
    expect(again.code).toBe(0);
  });

  it.each([
    ['is ready with the version of a killed update when that is run again', workingExecutable, 0],
    ['gets the version before a killed update back when it is not ready', brokenExecutable, 91],
  ])('%s', async (_, executable, code) => {
    const world = installed();
    writeFileSync(world.exe, executable(VERSION));
    const { staging, owner, previous } = placeOf(world.exe);
    mkdirSync(staging, { mode: 0o700 });
    writeFileSync(owner, JSON.stringify({ pid: 2 ** 30, phase: 'swapped', version: VERSION }));
    writeFileSync(previous, workingExecutable('0.0.9'));
    chmodSync(previous, 0o755);
    const systemd = fakeSystemd(world.cwd, world.exe);
    await world.release(VERSION);
    const env = { ...systemd.env, PATH: `${systemd.bin}:/usr/bin:/bin` };
    const done = await world.run(['--from', 'release'], env);
    expect(done.err).toContain('was ended before anybody saw it become ready');
    expect(done.code).toBe(code);
    if (code === 0) expect(done.out).toContain('Restarted and ready: interlock-worker.service');
    else expect(done.err).toContain('The version before was put back and runs again');
    expect(await versionOf(world.exe)).toBe(code === 0 ? VERSION : '0.0.9');
    expect(systemd.pid()).toBeGreaterThan(0);
    expect(existsSync(staging)).toBe(false);
  });

  it('that runs neither version is told as what it is', async () => {
    const world = installed();
    writeFileSync(world.exe, brokenExecutable(VERSION));
    const systemd = fakeSystemd(world.cwd, world.exe);
    await world.release('0.2.0', { [target]: brokenExecutable('0.2.0') });
    const done = await world.run(['--from', 'release'], {
      ...systemd.env,
      PATH: `${systemd.bin}:/usr/bin:/bin`,
    });
    expect(done.err).toContain('was put back, but does not run either');
    expect(done.code).toBe(92);
    expect(await versionOf(world.exe)).toBe(VERSION);
  });

  it('that this user may not restart goes on, and what was in place is put back', async () => {
    const world = installed();
    const systemd = fakeSystemd(world.cwd, world.exe);
    const refusing = join(world.cwd, 'refusing');
    mkdirSync(refusing);
    writeFileSync(
      join(refusing, 'systemctl'),
      `#!/bin/sh\ncase " $* " in *" restart "*) echo "Failed to restart x: Interactive authentication required." >&2; exit 1;; esac\nexec "${join(systemd.bin, 'systemctl')}" "$@"\n`,
    );
    chmodSync(join(refusing, 'systemctl'), 0o755);
    await world.release('0.2.0', { [target]: workingExecutable('0.2.0') });
    const env = { ...systemd.env, PATH: `${refusing}:${systemd.bin}:/usr/bin:/bin` };
    const done = await world.run(['--from', 'release'], env);
    expect(done.err).toContain('Interactive authentication required.');
    expect(done.code).toBe(91);
    await untouched(world);
  });

  it('is left alone with --no-restart, and one of another program cannot be named', async () => {
    const world = installed();
    const systemd = fakeSystemd(world.cwd, join(world.cwd, 'another'));
    const env = { ...systemd.env, PATH: `${systemd.bin}:/usr/bin:/bin` };
    await world.release('0.2.0');
    const wrong = await world.run(['--from', 'release', '--service', 'interlock-worker'], env);
    expect(wrong.err).toContain(
      'There is no service interlock-worker.service of systemd that runs',
    );
    expect(wrong.code).toBe(64);
    await untouched(world);
    const done = await world.run(['--from', 'release', '--no-restart'], env);
    expect(done.out).toContain('No service was restarted');
    expect(systemd.calls().join('\n')).not.toContain(' restart');
  });
});
