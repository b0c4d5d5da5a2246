/** Real work: the digest of a tree of more than 10,000 files, cancelled, and killed half way. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from './processes.ts';
import { digestByOthers, makeEndless, makeTree, progressed } from './tree.ts';
import { LEASE_MS, PACKAGE_HANDLERS, World } from './world.ts';

/** Holds the tree, and behind it a file without end. */
let above: string;
let folder: string;
let total: number;
beforeAll(() => {
  above = mkdtempSync(join(tmpdir(), 'interlock-tree-'));
  folder = join(above, 'a');
  total = makeTree(folder, 10_500);
  makeEndless(join(above, 'z'));
});
afterAll(() => rmSync(above, { recursive: true, force: true }));

it('ends within a moment when it is cancelled at 30 %', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  await world.worker({ handlers: PACKAGE_HANDLERS });
  const task = await world.producer.submit('file/digest', 1, { folder: above });
  const percent = await progressed(world, task.id, 30);
  const from = performance.now();
  await world.producer.cancel(task.id);
  await world.entry(task.id, 'cancelled');
  const took = Math.round(performance.now() - from);
  console.log(`cancelled at ${Math.round(percent)} % of ${total} files: ended after ${took} ms`);
  expect(took).toBeLessThan(3_000);
  expect(await world.producer.get(task)).toMatchObject({ status: 'cancelled', attempts: 1 });
});

it('goes on from its checkpoint on another worker when its own was killed at 50 %', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const first = await world.worker({ id: 'first', handlers: PACKAGE_HANDLERS });
  const task = await world.producer.submit(
    'file/digest',
    1,
    { folder },
    { policy: { leaseMs: LEASE_MS } },
  );
  const percent = await progressed(world, task.id, 50);
  await first.crash();
  await until(
    () => world.processes.left().every((pid) => pid === world.plane.pid),
    'end of its host',
    5_000,
  );
  await world.worker({ id: 'second', handlers: PACKAGE_HANDLERS });
  const done = await world.producer.await(task, { timeoutMs: 120_000 });
  expect(done).toMatchObject({ status: 'succeeded', worker: 'second', attempts: 2 });
  expect(done.result).toMatchObject({ files: total, sha256: digestByOthers(folder) });

  const { body } = await world.call('GET', `/tasks/${task.id}/logs`);
  const said = body.lines.map(({ text }: { text: string }) => text).join('\n');
  const skipped = Number(/goes on behind (\d+) files/.exec(said)?.[1]);
  const opened = total - skipped;
  const share = Math.round((100 * opened) / total);
  console.log(
    `killed at ${Math.round(percent)} %: the second attempt opened ${opened} of ${total} files (${share} %)`,
  );
  expect(share).toBeLessThan(60);
});
