/** What the second attempt of `file/digest@1` opens, as the kernel sees it. Needs strace (on Linux). */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { digestByOthers, makeTree, progressed } from './tree.ts';
import { LEASE_MS, PACKAGE_HANDLERS, World } from './world.ts';

it('opens fewer than 60 % of the files again after a kill -9 at 50 %', async () => {
  await using world = new World();
  const folder = world.path('tree');
  const total = makeTree(folder, 10_500);
  await world.controlPlane('task-producer', 'task-worker');
  const first = await world.worker({ id: 'first', handlers: PACKAGE_HANDLERS });
  const task = await world.producer.submit(
    'file/digest',
    1,
    { folder },
    { policy: { leaseMs: LEASE_MS } },
  );
  await progressed(world, task.id, 50);
  await first.crash();
  const trace = world.path('trace');
  const under = ['strace', '-f', '--seccomp-bpf', '-e', 'trace=?open,openat', '-o', trace];
  await world.worker({ id: 'second', handlers: PACKAGE_HANDLERS, under });
  const done = await world.producer.await(task, { timeoutMs: 240_000 });
  expect(done).toMatchObject({ status: 'succeeded', worker: 'second', attempts: 2 });
  expect(done.result).toMatchObject({ files: total, sha256: digestByOthers(folder) });

  const lines = readFileSync(trace, 'utf8').split('\n');
  const opened = lines.filter((line) => line.includes(`"${folder}/`) && !/O_DIRECTORY/.test(line));
  const share = Math.round((100 * opened.length) / total);
  console.log(`the second attempt opened ${opened.length} of ${total} files (${share} %)`);
  expect(opened.length).toBeGreaterThan(0);
  expect(share).toBeLessThan(60);
}, 300_000);
