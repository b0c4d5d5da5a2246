import { chmodSync, copyFileSync } from 'node:fs';
import { expect, it, vi } from 'vitest';
import { Machine } from '../cli/service/machine.ts';
import { World } from '../e2e/world.ts';
import { theExecutable } from './executable.ts';

// A whole machine starts, on one that others keep busy.
vi.setConfig({ testTimeout: 240_000 });

const why = Machine.cannot();
if (why !== undefined)
  console.info(`Skipped: the executable as a service of systemd, since ${why}.`);

const UNIT = 'interlock-worker.service';
const PROGRAM = '/usr/local/bin/interlock-worker';

it.skipIf(why !== undefined)(
  'is one file that installs itself, survives its death, runs shut in, and drains when it is removed',
  async () => {
    const booted = await Machine.boot();
    if (typeof booted === 'string') throw new Error(booted);
    await using machine = booted;
    await using world = new World();
    await world.controlPlane('task-worker', 'task-producer');
    machine.put('/etc/interlock/key', `${world.key('task-worker')}\n`, 0o600);
    machine.put(
      '/srv/handlers/demo/uid@1.ts',
      `export const effectSafety = 'pure';
export default (): object => ({ uid: process.getuid?.(), execPath: process.execPath });
`,
    );
    copyFileSync(theExecutable(), machine.inside(PROGRAM));
    chmodSync(machine.inside(PROGRAM), 0o755);
    const service = (...words: string[]) => machine.run([PROGRAM, 'service', ...words]);
    const { code, err } = await service(
      ...[
        'install',
        '--url',
        world.url,
        '--key-file',
        '/etc/interlock/key',
        '--worker-id',
        'garage',
      ],
      ...['--handlers', '/srv/handlers'],
    );
    expect(err).toMatch(/is installed, runs, and starts with the machine/);
    expect(code).toBe(0);
    const done = async () => {
      const task = await world.producer.submit('demo/uid', 1, {});
      if (task.stored) throw new Error('It has no outbox.');
      return world.producer.await(task.id, { timeoutMs: 60_000 });
    };
    const first = await done();
    expect(first).toMatchObject({ status: 'succeeded', result: { execPath: PROGRAM } });
    expect((first.result as { uid: number }).uid).toBeGreaterThanOrEqual(61_184);
    const { MainPID: pid = '' } = await machine.show(UNIT, 'MainPID');
    await machine.run(['kill', '-KILL', pid]);
    await machine.until(UNIT, 'NRestarts', (value) => value === '1');
    await machine.until(UNIT, 'ActiveState', (value) => value === 'active');
    expect(await done()).toMatchObject({ status: 'succeeded' });
    expect((await service('status')).out).toContain('runs.');
    const gone = await service('uninstall', '--purge', '--yes');
    expect(gone.err).toMatch(/is stopped and removed\. Its spool .+ is removed too/);
    expect((await machine.show(UNIT, 'LoadState')).LoadState).toBe('not-found');
  },
);
