/** The real executable as a service of a real systemd, updated: drained, started, seen ready, put back. */
import { copyFileSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { VERSION } from '../../src/contract/version.ts';
import { Machine } from '../cli/service/machine.ts';
import { makeRelease, newKeys, target } from '../cli/update/releases.ts';
import { World } from '../e2e/world.ts';
import { theExecutable } from './executable.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

const why = Machine.cannot();
if (why !== undefined) console.info(`Skipped: an update under a real systemd, since ${why}.`);

const UNIT = 'interlock-worker.service';
const EXE = '/opt/bin/interlock-worker';
const NEXT = '0.1.1';
const HANDLER =
  "export const effectSafety = 'pure'; export default (input) => new Promise((done) => setTimeout(done, input.ms, 'done'));";

describe.skipIf(why !== undefined)('an update under systemd', () => {
  const world = new World();
  const keys = newKeys();
  let machine: Machine;

  const release = (name: string, version: string, content: string | Uint8Array) =>
    makeRelease({
      folder: machine.inside(`/srv/${name}`),
      version,
      executables: { [target]: content },
      keys,
    });
  const update = (...words: string[]) =>
    machine.run([EXE, 'update', '--trust', '/srv/pub.pem', ...words], 200_000);
  const version = async (file = EXE) => (await machine.run([file, '--version'])).out.trim();
  const runs = async () => {
    const { MainPID = '' } = await machine.show(UNIT, 'MainPID');
    return (await machine.run(['stat', '-Lc', '%i', `/proc/${MainPID}/exe`, EXE])).out
      .trim()
      .split('\n');
  };

  beforeAll(async () => {
    const booted = await Machine.boot();
    if (typeof booted === 'string') throw new Error(booted);
    machine = booted;
    await world.controlPlane('task-worker', 'task-producer');
    machine.put('/srv/key', `${world.key('task-worker')}\n`, 0o600);
    machine.put('/srv/handlers/demo/wait@1.mjs', HANDLER);
    machine.put('/srv/pub.pem', keys.publicPem);
    machine.put(EXE, '', 0o755);
    copyFileSync(theExecutable(), machine.inside(EXE));
    const { code, err } = await machine.run([
      ...[EXE, 'service', 'install', '--url', world.url, '--key-file', '/srv/key'],
      ...['--handlers', '/srv/handlers', '--status-listen', '127.0.0.1:0'],
    ]);
    expect(code, err).toBe(0);
    await machine.until(UNIT, 'StatusText', (text) => text.startsWith('Ready:'));
  });
  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  it('drains the old version, which ends what it has begun, and sees the new one ready', async () => {
    const bytes = readFileSync(theExecutable());
    const [from, to] = [Buffer.from(VERSION), Buffer.from(NEXT)];
    for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1))
      to.copy(bytes, at);
    await release('next', NEXT, bytes);
    const task = await world.producer.submit('demo/wait', 1, { ms: 4_000 });
    if (task.stored) throw new Error('It has no outbox.');
    await world.entry(task.id, 'started');
    const done = await update('--from', '/srv/next', '--json');
    expect(done.code, done.err).toBe(0);
    expect(JSON.parse(done.out)).toMatchObject({
      did: 'updated',
      to: NEXT,
      services: [UNIT],
      oldWorkers: [],
    });
    // Its status port was found without being told, and it was ready before.
    expect(done.err).not.toContain('only its running is watched');
    expect(await version()).toBe(NEXT);
    const [inode, exe] = await runs();
    expect(inode).toBe(exe);
    const ended = await world.producer.await(task.id, { timeoutMs: 60_000 });
    expect(ended.status).toBe('succeeded');
    const kinds = (await world.journal(task.id)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'started')).toHaveLength(1);
  });

  it('puts the old version back when the new one ends at once, with its last words', async () => {
    await release(
      'broken',
      '0.1.2',
      '#!/bin/sh\nif [ "$1" = --version ]; then echo 0.1.2; exit 0; fi\necho "no such spool format" >&2\nexit 1\n',
    );
    const done = await update('--from', '/srv/broken', '--ready-within', '30s');
    expect(done.code).toBe(91);
    expect(done.err).toContain(`Version ${NEXT} was put back and runs again.`);
    expect(done.err).toMatch(/last lines of its log:\n {2}no such spool format/);
    expect(await version()).toBe(NEXT);
    expect(await version(`${EXE}.previous`)).toBe(VERSION);
    expect((await machine.show(UNIT, 'ActiveState')).ActiveState).toBe('active');
    expect((await machine.run(['ls', '-A', '/opt/bin'])).out.trim().split('\n')).toEqual([
      'interlock-worker',
      'interlock-worker.previous',
    ]);
  });

  it('and when the new one never says that it is ready', async () => {
    await release(
      'mute',
      '0.1.3',
      '#!/bin/sh\nif [ "$1" = --version ]; then echo 0.1.3; exit 0; fi\nexec sleep 900\n',
    );
    // As long as the drain may take goes before: a shorter one for this test.
    machine.put(`/etc/systemd/system/${UNIT}.d/short.conf`, '[Service]\nTimeoutStopSec=5s\n');
    await machine.run(['systemctl', 'daemon-reload']);
    const done = await update('--from', '/srv/mute', '--ready-within', '5s');
    expect(done.code, done.err).toBe(91);
    expect(done.err).toContain('has not said that it is ready within 10 s');
    expect(await version()).toBe(NEXT);
    await machine.until(UNIT, 'StatusText', (text) => text.startsWith('Ready:'));
  });

  it('goes back by hand', async () => {
    const done = await update('--rollback', '--json');
    expect(done.code, done.err).toBe(0);
    expect(JSON.parse(done.out)).toMatchObject({
      did: 'rolled-back',
      to: VERSION,
      services: [UNIT],
    });
    expect(await version()).toBe(VERSION);
    const [inode, exe] = await runs();
    expect(inode).toBe(exe);
  });
});
