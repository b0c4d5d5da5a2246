/** Handlers from disk in the standalone executable: every shape that works from source, and what is wrong with others. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Proc, until } from '../e2e/processes.ts';
import { World } from '../e2e/world.ts';

/** Type → its files beside each other, and what the first of them gives back. */
const GOOD: Record<string, { files: Record<string, string>; gives: unknown }> = {
  'an ES module with await at its top, and a module beside it': {
    files: {
      'good/awaits@1.mjs':
        "import { twice } from './lib.js';\nconst two = await Promise.resolve(2);\nexport default () => twice(two);",
      'good/lib.js': 'export const twice = (n) => 2 * n;',
      'good/package.json': '{"type":"module"}',
    },
    gives: 4,
  },
  'a host that its tasks share': {
    files: {
      'shared/host@1.mjs':
        "export const effectSafety = 'pure';\nexport const host = 'shared';\nexport default () => /\\/s\\d+$/.test(process.env.INTERLOCK_HOST_ID);",
    },
    gives: true,
  },
  'a CommonJS module': {
    files: { 'cjs/plain@1.cjs': 'module.exports = async () => require("node:path").sep;' },
    gives: '/',
  },
  'CommonJS as compilers write it, without a second default': {
    files: {
      'cjs/transpiled@1.cjs':
        '"use strict"; Object.defineProperty(exports, "__esModule", { value: true });\nexports.effectSafety = "pure"; exports.default = () => "transpiled";',
    },
    gives: 'transpiled',
  },
  'a .js file that is CommonJS by default': {
    files: { 'js/common@1.js': 'exports.default = () => typeof require;' },
    gives: 'function',
  },
  'a .js file that is a module by its syntax': {
    files: { 'js/module@1.js': 'export default () => typeof import.meta.url;' },
    gives: 'string',
  },
  'a .js file that is a module by its package': {
    files: {
      'typed/module@1.js': 'export default () => typeof module;',
      'typed/package.json': '{"type":"module"}',
    },
    gives: 'undefined',
  },
  'TypeScript with types of ours and a .ts file beside it': {
    files: {
      'ts/typed@1.ts':
        "import { defineHandler, type HandlerContext } from 'interlock-node-sdk/handler';\nimport { type Shout, shout } from './shout.ts';\nexport default defineHandler({ effectSafety: 'pure', run(input: string, ctx: HandlerContext): Shout { return shout(input + ctx.attempt); } });",
      'ts/shout.ts':
        'export type Shout = string;\nexport const shout = (text: string): Shout => text.toUpperCase();',
    },
    gives: 'IN1',
  },
  'packages beside and above': {
    files: {
      'packages/uses@1.mjs':
        "import near from 'near';\nimport { far } from 'far/sub';\nexport default () => near + far;",
      'packages/node_modules/near/package.json': '{"main":"./main.cjs"}',
      'packages/node_modules/near/main.cjs': 'module.exports = "near ";',
      'node_modules/far/package.json': '{"type":"module","exports":{"./sub":"./sub.js"}}',
      'node_modules/far/sub.js': 'export const far = "far";',
    },
    gives: 'near far',
  },
  'JSON, and its own place': {
    files: {
      'place/self@1.mjs':
        "import data from './data.json' with { type: 'json' };\nimport { createRequire } from 'node:module';\nimport { basename } from 'node:path';\nexport default () => [data.x, createRequire(import.meta.url)('./data.json').x, basename(import.meta.dirname), basename(import.meta.filename), new URL('data.json', import.meta.url).pathname.endsWith('/place/data.json')];",
      'place/data.json': '{"x":7}',
    },
    gives: [7, 7, 'place', 'self@1.mjs', true],
  },
  'import() while it runs, in modules and in CommonJS': {
    files: {
      'late/module@1.mjs':
        "export default async () => [(await import('./late.mjs')).late, (await import('node:os')).EOL, (await import('interlock-node-sdk/handler')).RetryableError.name];",
      'late/late.mjs': "export const late = 'late';",
    },
    gives: ['late', '\n', 'RetryableError'],
  },
  'import() in CommonJS': {
    files: {
      'late/common@1.cjs': "module.exports = async () => (await import('./common.mjs')).late;",
      'late/common.mjs': "export const late = 'late too';",
    },
    gives: 'late too',
  },
  'a thread of its own from a file, and one from a text': {
    files: {
      'threads/own@1.mjs':
        "import { Worker } from 'node:worker_threads';\nconst answer = (worker) => new Promise((resolve, reject) => { worker.once('message', resolve); worker.once('error', reject); });\nexport default async () => [await answer(new Worker(new URL('./thread.mjs', import.meta.url), { workerData: 3 })), await answer(new Worker('require(\"node:worker_threads\").parentPort.postMessage(process.argv0.length > 0)', { eval: true }))];",
      'threads/thread.mjs':
        "import { parentPort, workerData } from 'node:worker_threads';\nparentPort.postMessage(workerData * 2 + (await 1));",
    },
    gives: [7, true],
  },
  WebAssembly: {
    files: {
      // (module (func (export "f") (result i32) i32.const 42))
      'wasm/answer@1.mjs':
        "const bytes = Buffer.from('AGFzbQEAAAABBQFgAAF/AwIBAAcFAQFmAAAKBgEEAEEqCw==', 'base64');\nexport default async () => (await WebAssembly.instantiate(bytes)).instance.exports.f();",
    },
    gives: 42,
  },
  'the SDK by import and require, one and the same': {
    files: {
      'sdk/both@1.mjs':
        "import { createRequire } from 'node:module';\nimport { TaskProducer } from 'interlock-node-sdk';\nimport * as handler from 'interlock-node-sdk/handler';\nconst require = createRequire(import.meta.url);\nexport default () => [TaskProducer.name, require('interlock-node-sdk').TaskProducer === TaskProducer, require('interlock-node-sdk/handler').defineHandler === handler.defineHandler];",
    },
    gives: ['TaskProducer', true, true],
  },
  'errors of the SDK, also by require': {
    files: {
      'sdk/throws@1.cjs':
        "const { HostError } = require('interlock-node-sdk/handler');\nmodule.exports = () => { try { throw new HostError('no'); } catch (error) { return error.name; } };",
    },
    gives: 'HostError',
  },
};

/** File → its text, and what is said of it. */
const BAD: Record<string, { text: string; says: RegExp }> = {
  'bad/throws@1.mjs': {
    text: '\n\nthrow new TypeError("at its load");',
    says: /it does not load: TypeError: at its load \(.*bad\/throws@1\.mjs:3\)/,
  },
  'bad/waits@1.mjs': {
    text: 'await new Promise(() => {});\nexport default () => 1;',
    says: /waits@1\.mjs/,
  },
  'bad/syntax@1.ts': {
    text: 'const a: number = 1;\nexport default function ({\n  retrun 1;\n}',
    says: /syntax@1\.ts:3\)/,
  },
  'bad/syntax@2.mjs': {
    text: 'const a = 1;\nexport default function ({\n  retrun 1;\n}',
    says: /syntax@2\.mjs:3\)/,
  },
  'bad/syntax@3.cjs': {
    text: 'const a = 1;\nmodule.exports = function ({\n  retrun 1;\n}',
    says: /syntax@3\.cjs:3\)/,
  },
  'bad/enum@1.ts': {
    text: '\nenum Colour { Red }\nexport default () => Colour.Red;',
    says: /enum@1\.ts:2\).* Types are only removed, not compiled: enum, namespace/,
  },
  'bad/import@1.mjs': {
    text: "import 'not-installed-anywhere';\nexport default () => 1;",
    says: /Cannot find package 'not-installed-anywhere'/,
  },
  'bad/require@1.cjs': {
    text: "require('not-installed-anywhere');\nmodule.exports = () => 1;",
    says: /Cannot find module 'not-installed-anywhere'.*require@1\.cjs:1\)/s,
  },
  'bad/sdk@1.mjs': {
    text: "import 'interlock-node-sdk/nothing';\nexport default () => 1;",
    says: /Cannot find package 'interlock-node-sdk'/,
  },
};

let world: World;
let worker: Proc;
let folder: string;
let doctor: ReturnType<World['run']>;
const tasks = new Map<string, TaskHandle>();

type TaskHandle = Awaited<ReturnType<World['producer']['submit']>>;

/** Its handler is the first of them. */
function typeOf(files: Record<string, string>): string {
  return (Object.keys(files)[0] ?? '').replace(/@.*/, '');
}

beforeAll(async () => {
  world = new World();
  folder = world.path('händ lers #1 %41');
  const files = Object.assign({}, ...Object.values(GOOD).map((one) => one.files));
  for (const [path, { text }] of Object.entries(BAD)) files[path] = text;
  for (const [path, text] of Object.entries<string>(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  await world.controlPlane('task-producer', 'task-worker', 'task-operator');
  doctor = world.run(['tasks', 'doctor', '--handlers', folder], { cwd: world.folder });
  worker = await world.worker({ handlers: folder, max: 3, cwd: world.folder });
  const policy = { maxAttempts: 1 };
  for (const { files } of Object.values(GOOD)) {
    const type = typeOf(files);
    tasks.set(type, await world.producer.submit(type, 1, 'in', { policy }));
  }
});
afterAll(() => world[Symbol.asyncDispose]());

it.each(Object.entries(GOOD))('runs %s (F35)', async (_, { files, gives }) => {
  const task = tasks.get(typeOf(files)) as TaskHandle;
  const done = await world.producer.await(task, { timeoutMs: 60_000 });
  expect(done).toMatchObject({ status: 'succeeded', result: gives });
});

it('names each handler that does not load, with its place, and serves the others (F35)', async () => {
  // One that waits for ever is told when its time is over, and the others are served meanwhile.
  const all = Object.keys(BAD).length;
  await until(() => worker.events('handler.not-served').length >= all, 'all that are not served');
  const told = new Map(
    worker.events('handler.not-served').map((one) => [one.file as string, one.msg as string]),
  );
  expect([...told.keys()].sort()).toEqual(Object.keys(BAD).sort());
  for (const [file, { says }] of Object.entries(BAD)) {
    expect(told.get(file)).toMatch(says);
    expect(told.get(file)).not.toContain('/chunks/');
  }
});

it('names them in the doctor too (F35)', async () => {
  const { out } = await doctor;
  for (const file of Object.keys(BAD)) expect(out).toContain(file);
});
