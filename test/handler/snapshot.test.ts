import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createProbe } from '../../src/carriers/probe.ts';
import { codeFolder } from '../../src/cli/code-folder.ts';
import { type DiscoveredHandler, discoverHandlers } from '../../src/handler/discovery.ts';
import type { HandlerModules } from '../../src/handler/module-graph.ts';
import { keptFile } from '../../src/handler/snapshot.ts';
import { systemClock } from '../../src/system/clock.ts';
import { startJob } from '../carriers/collected.ts';
import { memoryLog } from '../carriers/memory-log.ts';
import { hostCommand, marked, processCarrier } from '../carriers/process-harness.ts';

let home: string;
let folder: string;
let kept: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'snapshot #ü-'));
  folder = join(home, 'handlers');
  kept = join(home, 'state', 'code');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const marker = `snapshot-${process.pid}`;
let probes = 0;
const probeMarker = () => `${marker}-probe-${++probes}`;
afterAll(async () => {
  expect(marked(marker)).toEqual([]);
  const used = Array.from({ length: probes }, (_, i) => `${marker}-probe-${i + 1}`);
  await vi.waitFor(() => expect(used.flatMap(marked)).toEqual([]));
});

function write(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

async function found(): Promise<Record<string, DiscoveredHandler>> {
  const probe = createProbe({
    clock: systemClock(),
    log: memoryLog(),
    command: hostCommand,
    marker: probeMarker(),
    env: process.env,
    keepIn: kept,
  });
  const { handlers } = await discoverHandlers({ folder, probe });
  return Object.fromEntries(handlers.map((one) => [`${one.type}@${one.schemaVersion}`, one]));
}

/** What each of them returns in a host, one after the other. */
async function results(handlers: Record<string, DiscoveredHandler>): Promise<unknown> {
  const { carrier } = processCarrier({ marker });
  try {
    const said: Record<string, unknown> = {};
    for (const [name, { code, file }] of Object.entries(handlers)) {
      if (!code) throw new Error(`${name} has no code`);
      const job = { file, code: { id: code.id, kept: keptFile(kept, code.id) } };
      const end = await startJob(carrier, job).ended;
      said[name] = end.how === 'returned' ? end.result : end;
    }
    return said;
  } finally {
    await carrier.close();
  }
}

const contents = ({ code }: DiscoveredHandler): HandlerModules =>
  JSON.parse(readFileSync(keptFile(kept, code?.id ?? ''), 'utf8'));
const names = (handler: DiscoveredHandler) =>
  contents(handler).modules.map(({ url }) => url.slice(url.lastIndexOf('/') + 1));

const MIXED = {
  'a@1.mjs': `
    import { x } from './lib/x.mjs';
    import c from './lib/c.cjs';
    import data from './lib/data.json' with { type: 'json' };
    import typed from './lib/typed.ts';
    const late = await import('./lib/late.mjs');
    export default () => [x, c, data, typed, late.default, new URL('.', import.meta.url).pathname];`,
  'b@1.ts': `
    const words: string = 'b';
    const c = require('./lib/c.cjs');
    module.exports = () => [words, c];`,
  'c@1.cjs': `
    const c = require('./lib/c.cjs');
    module.exports = () => ['c', c, __filename];`,
  'd@1.ts': `
    import { createRequire } from 'node:module';
    import { defineHandler } from 'interlock-node-sdk/handler';
    const c = createRequire(import.meta.url)('./lib/c.cjs');
    export default defineHandler({ run: (): unknown => ['d', c] });`,
  'lib/x.mjs': 'export const x = 1;',
  'lib/c.cjs': `module.exports = { own: require('./own.cjs'), json: require('./more.json'), plain: require('./plain') };`,
  'lib/own.cjs': `module.exports = require('./data.json');`,
  'lib/plain.js': `module.exports = 'plain';`,
  'lib/data.json': '{"data":1}',
  'lib/more.json': '{"more":2}',
  'lib/typed.ts': `const typed: string = 'typed'; export default typed;`,
  'lib/late.mjs': `export default 'late';`,
};

describe('kept code', () => {
  it('runs in every form after the folder is gone, with modules that handlers share (F38)', async () => {
    write(MIXED);
    const handlers = await found();
    const before = await results(handlers);
    rmSync(folder, { recursive: true });
    const after = await results(handlers);
    expect(after).toEqual(before);
    const c = { own: { data: 1 }, json: { more: 2 }, plain: 'plain' };
    expect(after).toEqual({
      'a@1': [
        1,
        c,
        { data: 1 },
        'typed',
        'late',
        new URL(`file://${folder}/`.replace('#', '%23')).pathname,
      ],
      'b@1': ['b', c],
      'c@1': ['c', c, join(folder, 'c@1.cjs')],
      'd@1': ['d', c],
    });
    const shared = ['c.cjs', 'data.json', 'more.json', 'own.cjs', 'plain.js'];
    for (const own of ['b@1.ts', 'c@1.cjs', 'd@1.ts']) {
      const handler = handlers[own.slice(0, 3)] as DiscoveredHandler;
      expect(names(handler).sort()).toEqual([own, ...shared].sort());
    }
  });

  it('is this user’s alone, and the same code is the same file', async () => {
    write({ 'a@1.mjs': 'export default () => 1' });
    const [first, second] = [await found(), await found()];
    expect(second).toEqual(first);
    expect(readdirSync(kept)).toEqual([`${first['a@1']?.code?.id}.json`]);
    expect(statSync(kept).mode & 0o777).toBe(0o700);
    expect(statSync(join(kept, `${first['a@1']?.code?.id}.json`)).mode & 0o777).toBe(0o600);
  });

  it('has the hash of its text and not of its place, through a link that is swapped (F38)', async () => {
    const version = (name: string, text: string) => {
      write({
        [`..${name}/a@1.mjs`]: `import t from './lib.mjs'; export default () => t;`,
        [`..${name}/lib.mjs`]: `export default ${text};`,
      });
      symlinkSync(`..${name}`, join(folder, '..data_tmp'));
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    version('1', '1');
    symlinkSync('..data/a@1.mjs', join(folder, 'a@1.mjs'));
    const one = await found();
    version('2', '1');
    const moved = await found();
    version('3', '3');
    const changed = await found();
    for (const name of ['..1', '..2', '..3']) rmSync(join(folder, name), { recursive: true });
    expect(moved['a@1']?.code?.hash).toBe(one['a@1']?.code?.hash);
    // Data beside it lies elsewhere now.
    expect(moved['a@1']?.code?.id).not.toBe(one['a@1']?.code?.id);
    expect(changed['a@1']?.code?.hash).not.toBe(one['a@1']?.code?.hash);
    expect(await results(one)).toEqual({ 'a@1': 1 });
    expect(await results(changed)).toEqual({ 'a@1': 3 });
  });

  it('leaves packages on the disk, and has another id when one of them was changed', async () => {
    write({
      'a@1.mjs': `import v from 'dep'; export default () => v;`,
      'node_modules/dep/package.json': '{"type":"module","exports":"./index.js"}',
      'node_modules/dep/index.js': `export { default } from './v.js';`,
      'node_modules/dep/v.js': 'export default 1;',
    });
    const one = await found();
    expect(names(one['a@1'] as DiscoveredHandler)).toEqual(['a@1.mjs']);
    expect(await results(one)).toEqual({ 'a@1': 1 });
    write({ 'node_modules/dep/v.js': 'export default 22;' });
    const other = await found();
    expect(other['a@1']?.code?.hash).toBe(one['a@1']?.code?.hash);
    expect(other['a@1']?.code?.id).not.toBe(one['a@1']?.code?.id);
    expect(await results(one)).toEqual({ 'a@1': 22 });
  });

  it('has what is imported later by a plain name, and what that needs', async () => {
    write({
      'a@1.mjs': `
        import { createRequire } from 'node:module';
        export default async () => {
          const require = createRequire(import.meta.url);
          const { late } = await import('./late.ts');
          return [late, require('./plain').plain, (await import("./b.js")).b, (await import('./c.js')).default.c];
        };`,
      'late.ts': `import { more } from './lib/more.mjs';\nexport const late: unknown = ['late', more];`,
      'lib/more.mjs': `export { default as more } from './data.json' with { type: 'json' };`,
      'lib/data.json': '"more"',
      'plain.js': `exports.plain = require('./c.js').c;`,
      'b.js': `export const b = 'b'; // import('./none.js')`,
      'c.js': `module.exports = { c: 'c' };`,
    });
    const one = await found();
    write({ 'lib/data.json': '"other"' });
    expect((await found())['a@1']?.code?.hash).not.toBe(one['a@1']?.code?.hash);
    rmSync(folder, { recursive: true });
    expect(await results(one)).toEqual({ 'a@1': [['late', 'more'], 'c', 'b', 'c'] });
  });

  it('leaves to Node what kind of module a late one is, where that is not plain to see', async () => {
    const late = (name: string) =>
      `export default async () => (await import('./${name}')).default;`;
    write({
      'min@1.mjs': late('min.js'),
      'min.js': 'var v=1;export{v as default};',
      'comment@1.mjs': late('comment.js'),
      'comment.js': `/* use it so:\nimport { two } from './comment.js';\n*/\nmodule.exports = 2;`,
      'needed@1.cjs': `module.exports = () => require('./comment.js');`,
      'waits@1.mjs': `export default async () => (await import('./waits.js'), globalThis.four);`,
      'waits.js': 'globalThis.four = await Promise.resolve(4);',
      'strict@1.mjs': late('strict.ts'),
      'strict.ts': `"use strict"; const five: number = 5; export default five;`,
    });
    expect(await results(await found())).toEqual({
      'min@1': 1,
      'comment@1': 2,
      'needed@1': 2,
      'waits@1': 4,
      'strict@1': 5,
    });
  });

  it('is not kept where a module is no text in UTF-8, and has another id when that changes', async () => {
    write({ 'a@1.mjs': `import lib from './lib.cjs'; export default () => lib;` });
    const latin = (version: number) =>
      writeFileSync(
        join(folder, 'lib.cjs'),
        Buffer.from(`// caf\xe9\nmodule.exports = 'v${version}';`, 'latin1'),
      );
    latin(1);
    const one = (await found())['a@1']?.code;
    expect(one?.notKept).toMatch(/lib\.cjs is no text in UTF-8$/);
    latin(22);
    expect((await found())['a@1']?.code?.id).not.toBe(one?.id);
  });

  it('is written anew by the next probe where its file was damaged', async () => {
    write({ 'a@1.mjs': 'export default () => 1' });
    const one = await found();
    writeFileSync(keptFile(kept, one['a@1']?.code?.id ?? ''), 'damaged');
    expect(await results(await found())).toEqual({ 'a@1': 1 });
  });

  it('has no hash for the journal where it is not kept', () => {
    const handler = {
      type: 'a',
      schemaVersion: 1,
      file: join(folder, 'a@1.mjs'),
      effectSafety: 'pure',
      safetyDeclared: true,
      effectGate: 'start',
    } as const;
    const code = { id: 'i', hash: 'h' };
    const { served } = codeFolder(home, 'ses');
    expect(served({ ...handler, code }).code).toMatchObject({
      hash: 'h',
      kept: expect.any(String),
    });
    expect(served({ ...handler, code: { ...code, notKept: 'why' } }).code).toEqual({ id: 'i' });
  });

  it('finds on the disk what is imported later by a name that is made up then', async () => {
    write({
      'a@1.mjs': `export default async () => (await import('./' + 'lib.mjs')).default;`,
      'lib.mjs': 'export default 1;',
    });
    const one = await found();
    write({ 'lib.mjs': 'export default 2;' });
    expect(await results(one)).toEqual({ 'a@1': 2 });
  });

  it('is not loaded where its file was altered, and the problem says what to do', async () => {
    write({ 'a@1.mjs': 'export default () => 1' });
    const one = await found();
    const file = keptFile(kept, one['a@1']?.code?.id ?? '');
    writeFileSync(file, readFileSync(file, 'utf8').replace('=> 1', '=> 2'));
    expect(await results(one)).toMatchObject({
      'a@1': { how: 'not-begun', error: { message: expect.stringContaining('SIGHUP') } },
    });
  });

  it('is not kept where it cannot be written, and the sentence says so', async () => {
    write({ 'a@1.mjs': 'export default () => 1' });
    writeFileSync(join(home, 'state'), '');
    const { code } = (await found())['a@1'] ?? {};
    expect(code?.notKept).toMatch(/could not be written .*(ENOTDIR|EEXIST)/);
    expect(code?.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it('is not kept of handlers that lie in a package', async () => {
    folder = join(home, 'node_modules', 'pack', 'handlers');
    write({ 'a@1.mjs': 'export default () => 1' });
    expect((await found())['a@1']?.code).toBeUndefined();
  });
});
