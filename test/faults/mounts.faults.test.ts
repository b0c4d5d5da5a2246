/** F34 on Linux: a spool of several file systems, targets that are mounts, folders that are read-only. Nothing is lost or cut short. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { PROFILE } from '../../src/cli/profile.ts';
import { type Proc, until } from '../e2e/processes.ts';
import { LEASE_MS, World } from '../e2e/world.ts';
import { audit, HANDLERS, linesOf } from './ledger.ts';
import { harmful, SmallDisk } from './machine.ts';

const PARTS = ['reports', 'running', 'stale', 'refused', 'corrupt'];

/** A bind mount until the end of the test. Its world has ended all processes before. */
function mounted(from: string, to: string, ...options: string[]): Disposable {
  execFileSync('mount', ['--bind', from, to]);
  const unmount = () => execFileSync('umount', ['-l', to]);
  try {
    if (options.length > 0)
      execFileSync('mount', ['-o', ['remount', 'bind', ...options].join(), to]);
  } catch (error) {
    unmount();
    throw error;
  }
  return { [Symbol.dispose]: unmount };
}

/** A program that cannot do what it should: one sentence, one next step, no stack. */
async function refuses(proc: Proc, code: number, words: RegExp): Promise<void> {
  expect(await proc.ending()).toEqual({ code, signal: null });
  expect(proc.err).toMatch(words);
  expect(proc.err).not.toMatch(/\n\s+at /);
}

harmful(
  'F34 a spool whose folders are file systems of their own loses nothing, also through a kill',
  async () => {
    await using world = new World();
    await using stack = new AsyncDisposableStack();
    for (const part of PARTS) stack.use(new SmallDisk(world, join(world.spool(), part), '8m'));
    execFileSync('chmod', ['0700', world.spool()]);
    await world.controlPlane('task-producer', 'task-worker');
    const policy = { leaseMs: LEASE_MS, lostGraceMs: 60_000 };
    const worker = await world.worker({ max: 2, handlers: HANDLERS });
    const input = (file: string, beforeMs = 0) => ({ file: world.path(file), beforeMs });
    for (const file of ['a', 'b', 'c']) {
      const { id } = await world.producer.submit('test/once', 1, input(file), { policy });
      await world.producer.await(id, { timeoutMs: 60_000 });
      expect((await audit(world, { kind: 'once', id, file })).wrong).toEqual([]);
    }
    const held = await world.producer.submit('test/again', 1, input('held', 600_000), { policy });
    await until(() => linesOf(world, 'held').length > 0, 'handler');
    await worker.crash();
    const next = await world.worker({ max: 2, handlers: HANDLERS });
    await world.entry(held.id, 'lost');
    await until(() => world.inSpool('reports').length === 0, 'empty spool');
    expect(next.events('spool.lost')).toEqual([]);
  },
);

harmful(
  'F34 a single file of the spool that is a mount is never cut short: the start is refused in words',
  async () => {
    await using world = new World();
    mkdirSync(world.spool(), { mode: 0o700 });
    const owner = join(world.spool(), 'owner.json');
    const was = '{"v":1,"kind":"owner", cut\n';
    for (const file of [owner, world.path('elsewhere')]) writeFileSync(file, was, { mode: 0o600 });
    using _mount = mounted(world.path('elsewhere'), owner);
    const worker = world.launch({ url: 'http://127.0.0.1:1', handlers: HANDLERS });
    await refuses(worker, 82, /EBUSY.*\n.*mount the whole folder/);
    expect(readFileSync(owner, 'utf8')).toBe(was);
    expect(readdirSync(world.spool()).filter((name) => name.startsWith('owner.json'))).toEqual([
      'owner.json',
    ]);
  },
);

harmful('F34 a read-only spool or profile is told in words, and stays as it was', async () => {
  await using world = new World();
  for (const part of ['ro', 'ro/spool', 'fixed', 'fixed/.interlock'])
    mkdirSync(world.path(part), { mode: 0o700 });
  using _readOnly = mounted(world.path('ro'), world.path('ro'), 'ro');
  for (const spool of ['ro/spool', 'ro/new/spool']) {
    const args = [
      '--url',
      'http://127.0.0.1:1',
      '--handlers',
      HANDLERS,
      '--spool',
      world.path(spool),
    ];
    const env = { INTERLOCK_WORKER_KEY: 'il_of_a_test' };
    await refuses(
      world.processes.start('interlock-worker', args, { env }),
      82,
      /EROFS.*\n.*read-only/,
    );
  }
  const dev = (cwd: string) => world.start(['dev', '--listen', '127.0.0.1:0'], { cwd });
  await refuses(dev(world.path('ro')), 74, /\.interlock is on a read-only disk \(EROFS\)/);

  const profile = join(world.path('fixed'), PROFILE);
  const old = '{"url":"http://127.0.0.1:1","keys":{}}';
  writeFileSync(profile, old, { mode: 0o600 });
  using _profile = mounted(profile, profile);
  await refuses(dev(world.path('fixed')), 74, /profile\.json is held by .*mount.* \(EBUSY\)/);
  expect(readFileSync(profile, 'utf8')).toBe(old);
  // Nothing with keys in it is left beside it.
  const left = readdirSync(join(profile, '..')).filter((name) => name.startsWith('profile'));
  expect(left).toEqual(['profile.json']);
});
