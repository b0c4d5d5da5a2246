/** What handlers do in the standalone executable beyond their own code: processes, our programs, the SDK. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { World } from '../e2e/world.ts';
import { PROGRAMS } from './executable.ts';

const policy = { maxAttempts: 1 };
let world: World;
beforeAll(async () => {
  world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const folder = world.path('handlers');
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const PATH = `${PROGRAMS}:${process.env.PATH}`;
  writeFileSync(world.path('required.cjs'), 'globalThis.required = "by -r";');
  writeFileSync(world.path('imported.mjs'), 'globalThis.imported = await "by --import";');
  const NODE_OPTIONS = '-r ./required.cjs --import ./imported.mjs';
  const env = { PATH, NODE_OPTIONS };
  await world.worker({ handlers: folder, max: 2, cwd: world.folder, env });
});
afterAll(() => world[Symbol.asyncDispose]());

const FILES: Record<string, string> = {
  'own/forks@1.mjs': `
    import { fork, spawn } from 'node:child_process';
    import { once } from 'node:events';
    const here = (file) => import.meta.dirname + '/' + file;
    export default async () => {
      const said = [];
      for (const file of ['child.mjs', 'child.cjs', 'child.ts']) {
        const child = fork(here(file), ['a']);
        child.send({ ask: file });
        const [answer] = await once(child, 'message');
        const [code] = await once(child, 'exit');
        said.push([answer, code]);
      }
      const child = spawn(process.execPath, [here('prints.mjs'), 'b'], { stdio: ['ignore', 'pipe', 'inherit'] });
      let out = '';
      child.stdout.on('data', (text) => { out += text; });
      await once(child, 'close');
      return { said, out };
    };`,
  'own/child.mjs':
    'process.on("message", ({ ask }) => { process.send([ask, process.argv.slice(2), process.execArgv]); process.disconnect(); });',
  'own/child.cjs':
    'process.on("message", ({ ask }) => { process.send([ask, process.argv.slice(2), process.execArgv]); process.disconnect(); });',
  'own/child.ts':
    'process.on("message", ({ ask }: { ask: string }) => { process.send!([ask, process.argv.slice(2), process.execArgv]); process.disconnect(); });',
  'own/prints.mjs':
    'import { execFileSync } from "node:child_process"; console.log(process.argv[2], execFileSync(process.execPath, ["-p", "6 * 7"], { encoding: "utf8" }).trim());',
  'ours/submits@1.mjs': `
    import { execFile } from 'node:child_process';
    import { promisify } from 'node:util';
    const run = promisify(execFile);
    export default async ({ url, key, path }) => {
      const env = { ...process.env, INTERLOCK_URL: url, INTERLOCK_PRODUCER_KEY: key };
      const submit = ['tasks', 'submit', 'own/echo', '--input', '"by a handler"', '--wait', '--json'];
      const all = [];
      for (const program of ['interlock', 'interlock-worker', path, process.execPath])
        all.push(JSON.parse((await run(program, submit, { env })).stdout).status);
      return all;
    };`,
  'own/preloaded@1.mjs':
    'export const effectSafety = "pure"; export default () => [globalThis.required, globalThis.imported];',
  'own/echo@1.mjs': 'export const effectSafety = "pure"; export default (input) => input;',
  'sdk/produces@1.mjs': `
    import { TaskProducer } from 'interlock-node-sdk';
    export default async ({ url, key }) => {
      const producer = new TaskProducer({ serviceUrl: url, key });
      try {
        const task = await producer.submit('own/echo', 1, 'by the SDK');
        return (await producer.await(task, { timeoutMs: 30_000 })).result;
      } finally { await producer.close(); }
    };`,
  'sdk/works@1.mjs': `
    import { TaskProducer, TaskWorker } from 'interlock-node-sdk';
    export default async ({ url, key, workerKey, spool }) => {
      const worker = new TaskWorker({ serviceUrl: url, key: workerKey, workerId: 'inside', spool });
      worker.handle('inside/echo', 1, (input) => input + 1);
      await worker.start();
      const producer = new TaskProducer({ serviceUrl: url, key });
      try {
        const task = await producer.submit('inside/echo', 1, 41);
        return (await producer.await(task, { timeoutMs: 30_000 })).result;
      } finally { await producer.close(); await worker.drain(); }
    };`,
};

/** Runs one task to its end. */
async function result(type: string, input: unknown): Promise<unknown> {
  const task = await world.producer.submit(type, 1, input, { policy });
  const done = await world.producer.await(task, { timeoutMs: 90_000 });
  return done.status === 'succeeded' ? done.result : done;
}

it('forks and spawns scripts of a handler, in each of their kinds, down to grandchildren', async () => {
  const answers = ['child.mjs', 'child.cjs', 'child.ts'].map((file) => [[file, ['a'], []], 0]);
  expect(await result('own/forks', {})).toEqual({ said: answers, out: 'b 42\n' });
});

it('stays our program for a handler that starts it by name, by a link, and by process.execPath with our words', async () => {
  const key = world.key('task-producer');
  const input = { url: world.url, key, path: join(PROGRAMS, 'interlock') };
  expect(await result('ours/submits', input)).toEqual(Array(4).fill('succeeded'));
});

it('honours NODE_OPTIONS for handlers: what is required and imported first', async () => {
  expect(await result('own/preloaded', {})).toEqual(['by -r', 'by --import']);
});

it('holds the SDK: a handler submits a task and gets its result', async () => {
  const input = { url: world.url, key: world.key('task-producer') };
  expect(await result('sdk/produces', input)).toBe('by the SDK');
});

it('holds the agent of the SDK too: a handler serves tasks of its own', async () => {
  const input = {
    url: world.url,
    key: world.key('task-producer'),
    workerKey: world.key('task-worker'),
    spool: world.path('inside'),
  };
  expect(await result('sdk/works', input)).toBe(42);
});
