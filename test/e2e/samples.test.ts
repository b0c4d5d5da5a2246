/** The samples as a person runs them: each with its key in the environment and nothing else but the address. */
import { existsSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROOT } from './processes.ts';
import { World } from './world.ts';

/** The pinned Node, and another one of this machine if it has one. */
const host = [
  process.env.npm_node_execpath,
  ...(process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node')),
]
  .filter((file) => file !== undefined && existsSync(file))
  .map((file) => realpathSync(file as string))
  .find((file) => file !== realpathSync(process.execPath) && !file.includes('node_modules'));
const nodes: [string, string][] = [['the pinned Node', process.execPath]];
if (host) nodes.push(["the host's Node", host]);
else
  console.log('This machine has no other Node than the pinned one: the samples run on that alone.');

let world: World;
beforeAll(async () => {
  world = new World();
  await world.controlPlane('task-producer', 'task-worker');
});
afterAll(() => world[Symbol.asyncDispose]());

it.each(nodes)('worker.mjs and producer.mjs greet Ada on %s', async (_, node) => {
  const sample = (name: string) => join(ROOT, 'samples', 'tasks-node', name);
  const common = { INTERLOCK_URL: world.url };
  const worker = world.processes.start(node, [sample('worker.mjs')], {
    cwd: world.folder,
    env: { ...common, INTERLOCK_WORKER_KEY: world.key('task-worker') },
  });
  await worker.says(/garage-node serves demo\/hello@1/);
  const producer = world.processes.start(node, [sample('producer.mjs'), 'Ada'], {
    cwd: world.folder,
    env: { ...common, INTERLOCK_PRODUCER_KEY: world.key('task-producer') },
  });
  expect(await producer.ending(60_000)).toEqual({ code: 0, signal: null });
  expect(producer.out).toContain('Hello, Ada!');
  worker.kill('SIGTERM');
  expect(await worker.ending()).toEqual({ code: 0, signal: null });
});
