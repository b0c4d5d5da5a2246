import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { placeOf } from '../../../src/cli/update/place.ts';
import { VERSION } from '../../../src/contract/version.ts';
import { interlock } from '../run.ts';
import { temporaryFolder } from '../world.ts';
import { installed, untouched, type World } from './installed.ts';
import {
  exeName,
  fakeExecutable,
  newKeys,
  putExecutable,
  target,
  text,
  versionOf,
} from './releases.ts';

const posix = process.platform !== 'win32';
if (!posix) console.log('Updates are not tried here: the fake executables are shell scripts.');

describe.skipIf(!posix)('interlock worker update', () => {
  it('puts a signed newer executable in place and keeps the old one beside it', async () => {
    const world = installed();
    chmodSync(world.exe, 0o750);
    const link = join(world.cwd, 'interlock');
    symlinkSync(world.exe, link);
    await world.release('0.2.0');
    const done = await world.run(['--from', 'release']);
    expect(done.err).toContain('signed by');
    expect(done).toMatchObject({ code: 0 });
    expect(done.out).toContain('is version 0.2.0 now');
    expect(await versionOf(link)).toBe('0.2.0');
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(statSync(world.exe).mode & 0o777).toBe(0o750);
    expect(await versionOf(`${world.exe}.previous`)).toBe(VERSION);
    expect(readdirSync(join(world.cwd, 'install here')).sort()).toEqual([
      'interlock-worker',
      'interlock-worker.previous',
    ]);
  });

  it('says so when the same version runs already', async () => {
    const world = installed();
    await world.release(VERSION);
    const done = await world.run(['--from', 'release', '--json']);
    expect(done.code).toBe(0);
    expect(JSON.parse(done.out)).toMatchObject({ did: 'nothing', from: VERSION, to: VERSION });
    await untouched(world);
  });

  it('installs an older version only when that is said', async () => {
    const world = installed();
    await world.release('0.0.9');
    const refused = await world.run(['--from', 'release']);
    expect(refused.err).toMatch(/older than 0\.1\.0[\s\S]*--allow-downgrade/);
    expect(refused.code).toBe(90);
    await untouched(world);
    expect((await world.run(['--from', 'release', '--allow-downgrade'])).code).toBe(0);
    expect(await versionOf(world.exe)).toBe('0.0.9');
  });

  it('verifies a release without touching anything with --check', async () => {
    const world = installed();
    await world.release('0.2.0');
    const done = await world.run(['--check', '--from', `release/${exeName}`, '--json']);
    expect(JSON.parse(done.out)).toMatchObject({ current: VERSION, offered: '0.2.0', is: 'newer' });
    await untouched(world);
  });

  const edit = (name: string, change: (content: string) => string) => (folder: string) =>
    writeFileSync(join(folder, name), change(text(join(folder, name))));
  const refusals: [string, string, (world: World) => Promise<void>][] = [
    [
      'is not signed',
      'UPDATE_UNTRUSTED',
      async (w) => void (await w.release('0.2.0', undefined, null)),
    ],
    [
      'is signed by somebody else',
      'UPDATE_UNTRUSTED',
      async (w) => void (await w.release('0.2.0', undefined, newKeys())),
    ],
    [
      'was changed together with its sums',
      'UPDATE_UNTRUSTED',
      async (w) => {
        const signature = join(await w.release('0.2.0'), 'SHA256SUMS.sig');
        const before = statSync(signature).size;
        const old = new Uint8Array(Buffer.from(text(signature), 'latin1'));
        await w.release('0.2.0', { [target]: 'something else' }, null);
        writeFileSync(signature, old.subarray(0, before));
      },
    ],
    [
      'has another executable than it says',
      'UPDATE_DAMAGED',
      async (w) => edit(exeName, (c) => c.replace('exit 3', 'exit 4'))(await w.release('0.2.0')),
    ],
    [
      'was cut',
      'UPDATE_DAMAGED',
      async (w) => edit(exeName, (c) => c.slice(0, -5))(await w.release('0.2.0')),
    ],
    [
      'has something at its end',
      'UPDATE_DAMAGED',
      async (w) => edit(exeName, (c) => `${c}\n`)(await w.release('0.2.0')),
    ],
    [
      'says that it is another version',
      'UPDATE_DAMAGED',
      async (w) =>
        edit('release.json', (c) => c.replace('0.2.0', '9.2.0'))(await w.release('0.2.0')),
    ],
    [
      'is for other machines',
      'UPDATE_WRONG_TARGET',
      async (w) => void (await w.release('0.2.0', { 'plan9-mips': 'x' })),
    ],
    [
      'does not run here',
      'UPDATE_DOES_NOT_RUN',
      async (w) => void (await w.release('0.2.0', { [target]: '\x7fELF of another CPU' })),
    ],
    [
      'runs as another version than it says',
      'UPDATE_DOES_NOT_RUN',
      async (w) => void (await w.release('0.2.0', { [target]: fakeExecutable('0.0.1') })),
    ],
    [
      'needs a newer libc',
      'UPDATE_DOES_NOT_RUN',
      async (w) =>
        void (await w.release('0.2.0', {
          [target]: `#!/bin/sh\necho "x: /lib/libc.so.6: version 'GLIBC_2.28' not found (required by x)" >&2\nexit 1\n`,
        })),
    ],
  ];
  it.each(refusals)('changes nothing when the release %s', async (_, code, arrange) => {
    const world = installed();
    await arrange(world);
    const done = await world.run(['--from', 'release', '--json']);
    const { error } = JSON.parse(done.err.trim().split('\n').at(-1) ?? '');
    expect(error).toMatchObject({ code, exit: 'update-refused', exitCode: 90 });
    expect(error.hint).toBeTruthy();
    expect(done.code).toBe(90);
    await untouched(world);
  });

  it('refuses a file that is for another machine, and names the right one', async () => {
    const world = installed();
    await world.release('0.2.0', { [target]: fakeExecutable('0.2.0'), 'plan9-mips': 'x' });
    const done = await world.run(['--from', 'release/interlock-worker-plan9-mips']);
    expect(done.err).toMatch(
      new RegExp(`is for plan9-mips; this machine is ${target}[\\s\\S]*${exeName}`),
    );
    await untouched(world);
  });

  it('believes nobody where no key is trusted, and no private key', async () => {
    const world = installed();
    await world.release('0.2.0');
    const none = await world.run(['--from', 'release'], { INTERLOCK_TRUST: '' });
    expect(none.err).toMatch(/No key is trusted here[\s\S]*--trust pub\.pem/);
    expect(none.code).toBe(90);
    writeFileSync(join(world.cwd, 'pub.pem'), world.keys.privatePem);
    const wrong = await world.run(['--from', 'release']);
    expect(wrong.err).toContain('private key, which belongs on the machine that signs');
    await untouched(world);
  });

  it('believes each of several keys, so that one can follow another', async () => {
    const world = installed();
    const next = newKeys();
    writeFileSync(
      join(world.cwd, 'pub.pem'),
      `old:\n${world.keys.publicPem}\nnew:\n${next.publicPem}`,
    );
    await world.release('0.2.0', undefined, next);
    expect((await world.run(['--from', 'release'])).code).toBe(0);
  });

  it('is not for a checkout', async () => {
    const cwd = temporaryFolder();
    const done = await interlock(['worker', 'update', '--from', 'x'], { cwd });
    expect(done.err).toContain('git pull && npm ci');
    expect(done.code).toBe(64);
  });

  it('lets one update at a time in, and sweeps what a killed one left', async () => {
    const world = installed();
    await world.release('0.2.0');
    const staging = join(world.cwd, 'install here', '.interlock-worker.update');
    mkdirSync(staging, { mode: 0o700 });
    const owner = (pid: number) =>
      writeFileSync(
        join(staging, 'owner.json'),
        JSON.stringify({ pid, phase: 'staging', version: '0.3.0' }),
      );
    owner(process.ppid);
    const second = await world.run(['--from', 'release']);
    expect(second.err).toMatch(
      new RegExp(`running \\(process ${process.ppid}, to version 0\\.3\\.0\\)`),
    );
    expect(second.code).toBe(79);
    expect(await versionOf(world.exe)).toBe(VERSION);
    // A pid that no system gives.
    owner(2 ** 30);
    writeFileSync(join(staging, 'new-interlock-worker'), 'half of it');
    expect((await world.run(['--from', 'release'])).code).toBe(0);
    expect(readdirSync(join(world.cwd, 'install here')).sort()).toEqual([
      'interlock-worker',
      'interlock-worker.previous',
    ]);
  });

  it('finishes and tells of an update that was killed after its swap, also where the same version is offered again', async () => {
    const world = installed();
    await world.release(VERSION);
    const { staging, owner, older, previous } = placeOf(world.exe);
    mkdirSync(staging, { mode: 0o700 });
    writeFileSync(owner, JSON.stringify({ pid: 2 ** 30, phase: 'swapped', version: VERSION }));
    // Killed between the second name and the swap: the version before is still the older one.
    putExecutable(older, '0.0.9');
    linkSync(world.exe, previous);
    const { code, out, err } = await world.run(['--from', 'release', '--no-restart']);
    expect(code).toBe(0);
    expect(err).toContain('was ended before anybody saw it become ready');
    expect(out).toContain('the update that was killed is finished');
    expect(await versionOf(previous)).toBe('0.0.9');
    expect(existsSync(staging)).toBe(false);
  });

  it('gives the previous version back after a kill before the swap, also where a second name is a copy', async () => {
    const world = installed();
    const { staging, owner, older, previous, fresh } = placeOf(world.exe);
    mkdirSync(staging, { mode: 0o700 });
    writeFileSync(owner, JSON.stringify({ pid: 2 ** 30, phase: 'swapped', version: '0.2.0' }));
    putExecutable(older, '0.0.9');
    putExecutable(previous, VERSION);
    putExecutable(fresh, '0.2.0');
    await world.release(VERSION);
    expect((await world.run(['--from', 'release'])).out).toContain('already');
    expect(await versionOf(previous)).toBe('0.0.9');
    expect(await versionOf(world.exe)).toBe(VERSION);
  });

  it('does not go forth again where a way back was killed', async () => {
    const world = installed();
    const { staging, owner, previous } = placeOf(world.exe);
    mkdirSync(staging, { mode: 0o700 });
    const left = { pid: 2 ** 30, phase: 'swapped', version: VERSION, back: true };
    writeFileSync(owner, JSON.stringify(left));
    putExecutable(previous, '0.2.0');
    const done = await world.run(['--rollback', '--no-restart', '--json']);
    expect(done.err).toContain('The way back to');
    expect(JSON.parse(done.out)).toMatchObject({ did: 'finished', to: VERSION });
    expect(await versionOf(world.exe)).toBe(VERSION);
    expect(await versionOf(previous)).toBe('0.2.0');
    await world.run(['--rollback', '--no-restart']);
    expect(await versionOf(world.exe)).toBe('0.2.0');
  });

  it('waits for no pipe and reads no folder that is called as a file of a release', async () => {
    const world = installed();
    for (const name of ['SHA256SUMS', exeName]) {
      const file = join(await world.release('0.2.0'), name);
      rmSync(file);
      execFileSync('mkfifo', [file]);
      const pipe = await world.run(['--from', 'release']);
      expect(pipe.err).toContain(`${name} is a pipe or a device and no file of a release`);
      expect(pipe.code).toBe(90);
      rmSync(file);
      mkdirSync(file);
      expect((await world.run(['--from', 'release'])).err).toContain(`${name} is a folder and no`);
    }
    await untouched(world);
    const trust = await world.run(['--from', 'release', '--trust', world.cwd]);
    expect(trust.err).toContain(`${world.cwd} is a folder (EISDIR)`);
  });

  it('tells that the executable is gone', async () => {
    const world = installed();
    await world.release('0.2.0');
    rmSync(world.exe);
    const done = await world.run(['--from', 'release']);
    expect(done.err).toContain('is not there any more');
    expect(done.code).toBe(79);
  });

  it('goes back by hand, and forth again', async () => {
    const world = installed();
    const none = await world.run(['--rollback']);
    expect(none.err).toContain('was not updated here');
    expect(none.code).toBe(66);
    await untouched(world);
    await world.release('0.2.0');
    await world.run(['--from', 'release']);
    expect((await world.run(['--rollback'])).out).toContain(`is version ${VERSION} again`);
    expect(await versionOf(world.exe)).toBe(VERSION);
    await world.run(['--rollback']);
    expect(await versionOf(world.exe)).toBe('0.2.0');
    expect(await versionOf(`${world.exe}.previous`)).toBe(VERSION);
  });
});
