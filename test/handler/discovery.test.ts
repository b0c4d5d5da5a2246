import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nicerThan } from '../../src/carriers/give-way.ts';
import { createProbe } from '../../src/carriers/probe.ts';
import { hostDefaults } from '../../src/core/defaults.ts';
import { type Discovery, discoverHandlers, type Probe } from '../../src/handler/discovery.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { systemClock } from '../../src/system/clock.ts';
import { memoryLog } from '../carriers/memory-log.ts';
import { hostCommand, marked } from '../carriers/process-harness.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'handlers-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const marker = `discovery-${process.pid}`;
const probe = createProbe({
  clock: systemClock(),
  log: memoryLog(),
  command: hostCommand,
  marker,
  env: process.env,
  probeMs: 5_000,
});
afterAll(() => vi.waitFor(() => expect(marked(marker)).toEqual([])));

/** Tells early after a moment. */
function hasty(): Clock {
  const clock = systemClock();
  return {
    ...{ now: () => clock.now(), wall: () => clock.wall() },
    sleep: (ms, signal) => clock.sleep(ms, signal),
    timer: (ms, fire, patience) =>
      clock.timer(ms === hostDefaults.probeSlowMs ? 50 : ms, fire, patience),
  };
}

/** Answers without looking: for tests of names. */
const blind: Probe = async (files) =>
  new Map(
    files.map((file) => [
      file,
      {
        ok: true,
        declaration: { effectSafety: 'pure', safetyDeclared: true, effectGate: 'start' },
      },
    ]),
  );

function write(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

const keys = (found: Discovery) => found.handlers.map((h) => `${h.type}@${h.schemaVersion}`);

/** What is told early, and what is found in the end; with the first word comes the file `go`. */
async function foundEarly(probe: Probe) {
  const early: Discovery[] = [];
  const found = await discoverHandlers({
    ...{ folder, probe },
    early: (discovery) => {
      early.push(discovery);
      write({ go: '' });
    },
  });
  return { early, found };
}
const told = (found: Discovery) => found.problems.map((p) => `${p.severity} ${p.code} ${p.file}`);
const GOOD = 'export default () => 1;';

describe('names', () => {
  it('F39 serves names that differ in case where the folder keeps them apart, with a warning', async () => {
    write({ 'Resize@1.js': GOOD, 'resize@1.js': GOOD, 'resize@1.cjs.txt': '' });
    const found = await discoverHandlers({ folder, probe: blind });
    expect(keys(found).sort()).toEqual(['Resize@1', 'resize@1']);
    expect(told(found)).toEqual([
      'warning HANDLER_CASE_CLASH Resize@1.js',
      'warning HANDLER_CASE_CLASH resize@1.js',
    ]);
    expect(found.problems[0]?.message).toContain('Resize@1.js and resize@1.js differ');
  });

  it('F39 serves neither for --check, and names the pair', async () => {
    write({ 'Resize@1.js': GOOD, 'resize@1.ts': GOOD, 'other@1.js': GOOD });
    const found = await discoverHandlers({ folder, probe: blind, portable: true });
    expect(keys(found)).toEqual(['other@1']);
    expect(told(found)).toEqual([
      'error HANDLER_CASE_CLASH Resize@1.js',
      'error HANDLER_CASE_CLASH resize@1.ts',
    ]);
  });

  it('F39 serves neither where the folder does not keep case apart', async () => {
    // A folder that finds one file by both spellings, as macOS and Windows do: here by a link.
    write({ 'Resize@1.js': GOOD, 'resize@1.ts': GOOD });
    symlinkSync('Resize@1.js', join(folder, 'resize@1.js'));
    const listed = await discoverHandlers({ folder, probe: blind });
    // The link is an entry of its own, so this is a duplicate; hidden from the list it is the other spelling.
    expect(told(listed)).toContain('error HANDLER_DUPLICATE resize@1.ts');
    const { folderMergesCase } = await import('../../src/handler/discovery.ts');
    const one = (path: string, type: string) => ({
      path,
      file: join(folder, path),
      type,
      schemaVersion: 1,
    });
    const pair = [one('Resize@1.js', 'Resize'), one('resize@1.ts', 'resize')];
    expect(await folderMergesCase(pair, folder)).toBe(true);
    rmSync(join(folder, 'resize@1.js'));
    expect(await folderMergesCase(pair, folder)).toBe(false);
  });

  it('F39 names café in both forms as no type and serves the rest', async () => {
    write({ 'caf\u00e9@1.js': GOOD, 'cafe\u0301@1.js': GOOD, 'cafe@1.js': GOOD });
    const found = await discoverHandlers({ folder, probe: blind });
    expect(keys(found)).toEqual(['cafe@1']);
    expect(told(found).sort()).toEqual([
      'error HANDLER_NAME_INVALID cafe\u0301@1.js',
      'error HANDLER_NAME_INVALID caf\u00e9@1.js',
    ]);
  });

  it('serves neither of two files for one type and version', async () => {
    write({ 'demo/a@1.js': GOOD, 'demo/a@1.ts': GOOD, 'demo/a@2.js': GOOD });
    const found = await discoverHandlers({ folder, probe: blind });
    expect(keys(found)).toEqual(['demo/a@2']);
    expect(told(found)).toEqual([
      'error HANDLER_DUPLICATE demo/a@1.js',
      'error HANDLER_DUPLICATE demo/a@1.ts',
    ]);
    expect(found.problems[0]?.message).toContain('demo/a@1.js and demo/a@1.ts');
  });

  it('passes over libraries, dotfiles and node_modules, and follows links', async () => {
    write({
      'lib.js': '',
      '.git/x@1.js': GOOD,
      'node_modules/y@1.js': GOOD,
      '..data_1/mounted@1.js': GOOD,
      'deep/er/z@1.js': GOOD,
    });
    symlinkSync('..data_1/mounted@1.js', join(folder, 'mounted@1.js'));
    symlinkSync('..', join(folder, 'deep/loop'));
    symlinkSync('nowhere', join(folder, 'lost@1.js'));
    const found = await discoverHandlers({ folder, probe: blind });
    expect(keys(found).sort()).toEqual(['deep/er/z@1', 'mounted@1']);
    expect(told(found)).toEqual(['error HANDLERS_UNREADABLE lost@1.js']);
  });

  it('names a folder that is not there', async () => {
    const found = await discoverHandlers({ folder: join(folder, 'nope'), probe: blind });
    expect(found.handlers).toEqual([]);
    expect(found.problems).toMatchObject([
      {
        code: 'HANDLERS_UNREADABLE',
        message: `The handlers folder ${join(folder, 'nope')} does not exist (ENOENT).`,
      },
    ]);
    write({ 'a@1.mjs': GOOD });
    const file = join(folder, 'a@1.mjs');
    expect((await discoverHandlers({ folder: file, probe: blind })).problems).toMatchObject([
      { message: `The handlers folder ${file} is a file and no folder (ENOTDIR).` },
    ]);
  });
});

it('serves one that says what is not heard, with a warning', async () => {
  write({ 'a@1.mjs': GOOD });
  const warning = {
    code: 'HANDLER_WORD_UNKNOWN',
    message: 'It declares "Host"',
    hint: 'Write host',
  };
  const found = await discoverHandlers({
    folder,
    probe: async (files) =>
      new Map(
        [...(await blind(files))].map(([file, one]) => [file, { ...one, warnings: [warning] }]),
      ),
  });
  expect(keys(found)).toEqual(['a@1']);
  expect(found.problems).toEqual([
    { severity: 'warning', file: 'a@1.mjs', type: 'a@1', ...warning },
  ]);
});

describe('modules, loaded in a process of their own', () => {
  it('F35 serves every good shape', async () => {
    write({
      'esm/tla@1.mjs':
        'const x = await Promise.resolve(1); export const effectSafety = "pure"; export default () => x;',
      'cjs/plain@1.cjs':
        'module.exports = async (input) => input; module.exports.effectSafety = "idempotent";',
      'cjs/transpiled@1.cjs':
        'Object.defineProperty(exports, "__esModule", { value: true }); exports.default = () => 1; exports.effectSafety = "pure"; exports.timeoutMs = 5000;',
      'cjs/twice@1.cjs':
        'exports.__esModule = true; exports.default = { __esModule: true, default: { run: () => 1, effectSafety: "pure" } };',
      'ts/typed@1.ts':
        'interface In { n: number } export const effectGate = "effect" as const; export default (input: In): number => input.n;',
      'ts/defined@2.ts':
        'import { two } from "../lib.js"; import pkg from "small"; export default { run: () => two + pkg, effectSafety: "pure", input: { type: "object" } };',
      'lib.js': 'export const two = 2;',
      'node_modules/small/package.json': '{"name":"small","main":"index.js"}',
      'node_modules/small/index.js': 'module.exports = 3;',
      'package.json': '{"type":"module"}',
    });
    const found = await discoverHandlers({ folder, probe });
    expect(found.problems).toEqual([]);
    const byKey = Object.fromEntries(
      found.handlers.map(({ type, schemaVersion, file, ...said }) => [
        `${type}@${schemaVersion}`,
        said,
      ]),
    );
    const pure = { effectSafety: 'pure', safetyDeclared: true, effectGate: 'start' };
    expect(byKey).toEqual({
      'esm/tla@1': pure,
      'cjs/plain@1': { ...pure, effectSafety: 'idempotent' },
      'cjs/transpiled@1': { ...pure, timeoutMs: 5000 },
      'cjs/twice@1': pure,
      'ts/typed@1': {
        effectSafety: 'non-idempotent',
        safetyDeclared: false,
        effectGate: 'effect',
      },
      'ts/defined@2': { ...pure, inputSchema: { type: 'object' } },
    });
    expect(found.handlers[0]?.file).toBe(join(folder, 'cjs/plain@1.cjs'));
  });

  it('F35 names every bad one with a next step, and serves the rest', async () => {
    write({
      'good@1.mjs': 'export const effectSafety = "pure"; export default () => 1;',
      'throws@1.mjs': 'throw new Error("no database here");',
      'throws-nothing@1.mjs': 'throw undefined;',
      'hangs@1.mjs': 'await new Promise(() => {}); export default () => 1;',
      'hangs@2.mjs': 'await new Promise(() => {}); export default () => 1;',
      'syntax@1.mjs': 'export const a = 1;\nexport default (=> 1;',
      'missing@1.mjs': 'import "./not-there.js"; export default () => 1;',
      'no-default@1.mjs': 'export function run() {}',
      'not-a-function@1.mjs': 'export default 42;',
      'bad-word@1.mjs': 'export const effectSafety = "idempotant"; export default () => 1;',
      'bad-time@1.mjs': 'export const timeoutMs = "5s"; export default () => 1;',
      'two-words@1.mjs':
        'export const effectSafety = "pure"; export default { run() {}, effectSafety: "idempotent" };',
      'bad-schema@1.mjs': 'export const input = { type: "strin" }; export default () => 1;',
      'enum@1.ts': 'enum Colour { Red }\nexport default () => Colour.Red;',
    });
    const found = await discoverHandlers({ folder, probe });
    expect(keys(found)).toEqual(['good@1']);
    const texts = Object.fromEntries(
      found.problems.map((p) => [p.type, `${p.message} | ${p.hint}`]),
    );
    expect(texts).toEqual({
      'throws@1': expect.stringContaining('no database here'),
      'throws-nothing@1': expect.stringContaining('threw undefined'),
      'hangs@1': expect.stringMatching(
        /not loaded within 5 s, which is the limit.*into the handler, to its first call/,
      ),
      'hangs@2': expect.stringMatching(/not loaded within 5 s/),
      'syntax@1': expect.stringMatching(/SyntaxError: .*syntax@1\.mjs:2\)/),
      'missing@1': expect.stringMatching(/not-there\.js.*needs its ending/),
      'no-default@1': expect.stringMatching(/no default export.*it exports run/),
      'not-a-function@1': expect.stringContaining('default export is number'),
      'bad-word@1': expect.stringContaining(
        'effectSafety is "idempotant"; it must be pure or idempotent or non-idempotent',
      ),
      'bad-time@1': expect.stringContaining('timeoutMs is "5s"'),
      'two-words@1': expect.stringContaining('effectSafety is declared twice'),
      'bad-schema@1': expect.stringContaining('input is no valid JSON Schema'),
      'enum@1': expect.stringMatching(/enum is not supported.*Types are only removed/),
    });
    for (const problem of found.problems) expect(problem.severity).toBe('error');
  });

  it('finds out which module ends or blocks the process that loads them', async () => {
    write({
      'a@1.mjs': GOOD,
      'exits@1.mjs': 'console.error("bye"); process.exit(0);',
      'spins@1.mjs': 'for (;;);',
      'z@1.mjs': GOOD,
    });
    const found = await discoverHandlers({ folder, probe });
    expect(keys(found)).toEqual(['a@1', 'z@1']);
    expect(found.problems).toMatchObject([
      { type: 'exits@1', message: expect.stringMatching(/ends the process .*exit code 0.*bye/) },
      { type: 'spins@1', message: expect.stringContaining('not loaded within') },
    ]);
  });

  it('blames no file for a process that does not come up, gives what has come up its own time, and tells what takes long', async () => {
    write({ 'a@1.mjs': GOOD });
    const clock = systemClock();
    const log = memoryLog();
    const asked: number[] = [];
    const look = (hurries: number) =>
      createProbe({
        ...{ log, command: hostCommand, marker, env: process.env, probeMs: 60_000 },
        clock: {
          ...{ now: () => clock.now(), wall: () => clock.wall() },
          sleep: (ms, signal) => clock.sleep(ms, signal),
          timer: (ms, fire, patience) => {
            asked.push(ms);
            return clock.timer(ms === hurries ? 0 : ms, fire, patience);
          },
        },
      });
    const slow = await discoverHandlers({ folder, probe: look(hostDefaults.probeStartMs) });
    expect(slow.problems).toMatchObject([
      {
        message: expect.stringContaining('did not come up'),
        hint: expect.stringContaining('busy'),
      },
    ]);
    expect(asked).not.toContain(60_000);
    const found = await discoverHandlers({ folder, probe: look(hostDefaults.probeSlowMs) });
    expect(keys(found)).toEqual(['a@1']);
    expect(asked).toContain(60_000);
    expect(log.events).toContain('handler.loading');
  });

  it.skipIf(process.platform === 'win32')('loads them behind the worker', async () => {
    const nice = nicerThan(getPriority());
    write({
      'a@1.mjs': `import { getPriority } from "node:os"; while (getPriority() !== ${nice}) await new Promise((on) => setTimeout(on, 1)); export default () => 1;`,
    });
    expect(keys(await discoverHandlers({ folder, probe }))).toEqual(['a@1']);
  });

  it('tells once what loads while another file still does, and the rest when that is over', async () => {
    write({
      'a@1.mjs': GOOD,
      'bad@1.mjs': 'throw new Error("no database here");',
      'late@1.mjs':
        'import { existsSync } from "node:fs"; while (!existsSync(new URL("go", import.meta.url))) await new Promise((on) => setTimeout(on, 10)); export default () => 1;',
    });
    const probe = createProbe({
      ...{ clock: hasty(), log: memoryLog(), command: hostCommand, marker, env: process.env },
    });
    const { early, found } = await foundEarly(probe);
    expect(early).toHaveLength(1);
    expect(keys(early[0] as Discovery)).toEqual(['a@1']);
    const told = ({ problems }: Discovery) =>
      problems.map(({ type, loading, severity }) => [type, severity, loading]);
    expect(told(early[0] as Discovery)).toContainEqual(['late@1', 'error', true]);
    expect(keys(found)).toEqual(['a@1', 'late@1']);
    expect(told(found)).toEqual([['bad@1', 'error', undefined]]);
  });

  it('tells those behind a file that holds its thread, and takes that file too when it has loaded', async () => {
    write({
      'a@1.mjs': GOOD,
      'holds@1.mjs':
        'import { existsSync } from "node:fs"; while (!existsSync(new URL("go", import.meta.url))); export default () => 1;',
      'z@1.mjs': GOOD,
      'z@2.mjs': 'throw new Error("no database here");',
    });
    const probe = createProbe({
      ...{ clock: systemClock(), log: memoryLog(), command: hostCommand, marker },
      ...{ env: process.env, probeMs: 60_000 },
    });
    const { early, found } = await foundEarly(probe);
    expect(early.map(keys)).toEqual([['a@1', 'z@1']]);
    expect(keys(found)).toEqual(['a@1', 'holds@1', 'z@1']);
    expect(found.problems).toMatchObject([{ type: 'z@2' }]);
  });

  it('ends what still loads when nobody waits for it', async () => {
    write({ 'a@1.mjs': GOOD, 'hangs@1.mjs': 'await new Promise(() => {});' });
    const left = new AbortController();
    const probe = createProbe({
      ...{ clock: hasty(), log: memoryLog(), command: hostCommand, marker, env: process.env },
      signal: left.signal,
    });
    const early = Promise.withResolvers<void>();
    const found = discoverHandlers({ folder, probe, early: () => early.resolve() });
    await early.promise;
    left.abort();
    expect(keys(await found)).toEqual(['a@1']);
  });

  it('serves nothing, in words, where no process can be started', async () => {
    write({ 'a@1.mjs': GOOD });
    const broken = createProbe({
      clock: systemClock(),
      log: memoryLog(),
      command: { execPath: '/nowhere/node', args: [] },
      marker,
      env: {},
    });
    const found = await discoverHandlers({ folder, probe: broken });
    expect(found.problems).toMatchObject([
      { code: 'HOST_NOT_STARTED', message: expect.stringContaining('there is no such program') },
    ]);
  });
});
