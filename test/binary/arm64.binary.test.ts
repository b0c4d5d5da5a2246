/** The executable for linux-arm64 under qemu, against a control plane of this machine. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { World } from '../e2e/world.ts';
import { emulator } from './emulator.ts';
import { BUILT } from './executable.ts';

vi.setConfig({ testTimeout: 300_000 });
const executable = join(dirname(BUILT), 'interlock-worker-linux-arm64');

it('for linux-arm64 tells its version, loads handlers, and runs a task in a host of its own', async ({
  skip,
}) => {
  if (!existsSync(executable)) return skip('not built: npm run binary -- --target linux-arm64');
  const emulated = emulator();
  if (typeof emulated === 'string') return skip(emulated);
  const { under, env } = emulated;
  const [program = '', ...before] = under;
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const start = (...args: string[]) =>
    world.processes.start(program, [...before, executable, ...args], {
      env: { ...env, INTERLOCK_WORKER_KEY: world.key('task-worker') },
      // A shell that becomes the program.
      wrapper: false,
    });

  // One, and no types to remove: everything takes many times as long here.
  const handlers = world.path('handlers');
  mkdirSync(join(handlers, 'cpu'), { recursive: true });
  const text = 'export default () => [process.arch, process.version];';
  writeFileSync(join(handlers, 'cpu/tells@1.mjs'), text);

  const version = start('--version');
  expect((await version.ended).code, version.tail()).toBe(0);
  const check = start('--check', '--handlers', handlers);
  expect((await check.ended).code, check.tail()).toBe(0);
  expect(check.out).toMatch(/ok +cpu\/tells@1/);

  const [url, spool] = [world.url, world.spool('arm')];
  const worker = start('--url', url, '--handlers', handlers, '--spool', spool);
  const task = await world.producer.submit('cpu/tells', 1, null);
  const done = await world.producer.await(task, { timeoutMs: 240_000 });
  expect(done, worker.tail()).toMatchObject({
    status: 'succeeded',
    result: ['arm64', process.version],
  });
  worker.kill('SIGTERM');
  expect((await worker.ended).code, worker.tail()).toBe(0);
});
