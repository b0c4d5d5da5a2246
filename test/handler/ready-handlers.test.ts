import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createProbe } from '../../src/carriers/probe.ts';
import { discoverHandlers } from '../../src/handler/discovery.ts';
import type { Job } from '../../src/ports/carrier.ts';
import { systemClock } from '../../src/system/clock.ts';
import { startJob } from '../carriers/collected.ts';
import { memoryLog } from '../carriers/memory-log.ts';
import { hostCommand, processCarrier } from '../carriers/process-harness.ts';

const shipped = join(import.meta.dirname, '../../handlers');
const { carrier } = processCarrier({ maxHosts: 2 });
afterAll(() => carrier.close());

const start = (key: string, input: unknown, job: Partial<Job> = {}) =>
  startJob(carrier, { file: join(shipped, `${key}.ts`), input, ...job });
const run = (key: string, input: unknown, job?: Partial<Job>) => start(key, input, job).ended;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ready-handlers-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('are all served, each with its safety declared', async () => {
  const probe = createProbe({
    clock: systemClock(),
    log: memoryLog(),
    command: hostCommand,
    marker: `ready-${process.pid}`,
    env: process.env,
  });
  const found = await discoverHandlers({ folder: shipped, probe, portable: true });
  expect(found.problems).toEqual([]);
  expect(
    found.handlers.map((h) => [h.type, h.schemaVersion, h.effectSafety, h.effectGate]),
  ).toEqual([
    ['demo/hello', 1, 'pure', 'start'],
    ['effect/append-gated', 1, 'non-idempotent', 'effect'],
    ['effect/append', 1, 'non-idempotent', 'start'],
    ['file/digest', 1, 'pure', 'start'],
  ]);
  for (const handler of found.handlers) {
    expect(handler).toMatchObject({ safetyDeclared: true, inputSchema: { type: 'object' } });
  }
});

it('demo/hello greets, and names what is wrong with its input', async () => {
  expect(await run('demo/hello@1', { name: 'Ada' })).toEqual({
    how: 'returned',
    result: { greeting: 'Hello, Ada!' },
  });
  expect(await run('demo/hello@1', { nom: 'Ada' })).toMatchObject({
    how: 'threw',
    error: { code: 'INPUT_INVALID', message: expect.stringContaining("'name'") },
  });
});

describe.each(['effect/append@1', 'effect/append-gated@1'])('%s', (key) => {
  const gate = key.includes('gated') ? ({ effectGate: 'effect' } as const) : {};

  it('appends one line', async () => {
    const file = join(folder, 'lines');
    writeFileSync(file, 'first\n');
    const running = start(key, { file, text: 'zweite Zeile ü' }, gate);
    if (gate.effectGate) {
      await running.until((told) => told.effects === 1);
      expect(readFileSync(file, 'utf8')).toBe('first\n');
      running.openGate();
    }
    expect(await running.ended).toEqual({ how: 'returned', result: { bytes: 16 } });
    expect(readFileSync(file, 'utf8')).toBe('first\nzweite Zeile ü\n');
    expect(running.text()).toContain('appended 16 bytes');
  });

  it('refuses what is no line, and names a file that cannot be opened', async () => {
    for (const bad of [
      { file: join(folder, 'f'), text: 'two\nlines' },
      { file: 'relative', text: 'x' },
    ]) {
      expect(await run(key, bad, gate)).toMatchObject({ error: { code: 'INPUT_INVALID' } });
    }
    expect(await run(key, { file: join(folder, 'no/such'), text: 'x' }, gate)).toMatchObject({
      how: 'threw',
      error: { code: 'FILE_NOT_OPENED', message: expect.stringContaining('no/such') },
    });
  });

  it('obeys a stop before the line, and tells its result after it', async () => {
    const file = join(folder, 'lines');
    const before = start(key, { file, text: 'never', beforeMs: 60_000 }, gate);
    await before.until((told) => told.begun === 1);
    before.stop('cancel', 60_000);
    expect(await before.ended).toEqual({ how: 'stopped' });
    const after = start(key, { file, text: 'once', afterMs: 200 });
    await after.until((told) => told.lines.length > 0);
    after.stop('cancel', 60_000);
    expect(await after.ended).toEqual({ how: 'returned', result: { bytes: 5 } });
    expect(readFileSync(file, 'utf8')).toBe('once\n');
  });
});

it('effect/append-gated appends nothing when its gate is refused', async () => {
  const file = join(folder, 'lines');
  const running = start('effect/append-gated@1', { file, text: 'no' }, { effectGate: 'effect' });
  await running.until((told) => told.effects === 1);
  running.refuseGate('The lease has run out.');
  expect(await running.ended).toMatchObject({
    how: 'threw',
    error: { code: 'EFFECT_NOT_BEGUN', retryable: true },
  });
  expect(readFileSync(file, 'utf8')).toBe('');
});

describe('file/digest', () => {
  /** What coreutils make of the folder, with the command at the head of the handler. */
  const coreutils = () =>
    execFileSync(
      'sh',
      [
        '-c',
        `cd "$0" && find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0r sha256sum -- | sha256sum`,
        folder,
      ],
      { encoding: 'utf8' },
    ).split(' ')[0];

  it.skipIf(process.platform !== 'linux')(
    'gives the digest of coreutils, whatever the names',
    async () => {
      const names = [
        'a/b',
        'a.txt',
        'ab',
        'a/z/deep',
        'a-',
        'back\\slash',
        'new\nline',
        'ü',
        ' x ',
      ];
      mkdirSync(join(folder, 'a/z'), { recursive: true });
      mkdirSync(join(folder, 'empty'));
      for (const name of names) writeFileSync(join(folder, name), `content of ${name}`);
      writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0xfe])]), 'bytes');
      writeFileSync(join(folder, 'nothing'), '');
      writeFileSync(join(folder, 'large'), Buffer.alloc(3_000_000, 'l'));
      symlinkSync('large', join(folder, 'link'));
      symlinkSync('..', join(folder, 'a/up'));
      execFileSync('mkfifo', [join(folder, 'pipe')]);
      expect(await run('file/digest@1', { folder })).toEqual({
        how: 'returned',
        result: { files: 12, bytes: expect.any(Number), sha256: coreutils() },
      });
    },
  );

  it('digests an empty folder', async () => {
    expect(await run('file/digest@1', { folder })).toEqual({
      how: 'returned',
      result: {
        files: 0,
        bytes: 0,
        sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      },
    });
  });

  it('goes on from a checkpoint and opens no file before it again', async () => {
    const paths: string[] = [];
    for (let d = 0; d < 10; d++) {
      mkdirSync(join(folder, `d${d}`));
      for (let f = 0; f < 120; f++) {
        const path = `d${d}/f${String(f).padStart(3, '0')}`;
        paths.push(path);
        writeFileSync(join(folder, path), `file ${path}`);
      }
    }
    const first = start('file/digest@1', { folder });
    const whole = await first.ended;
    const checkpoints = first.told.progress.filter((update) => update.checkpoint !== undefined);
    const middle = checkpoints[0] as {
      percent: number;
      checkpoint: { files: number; last: string };
    };
    expect(middle.checkpoint.files).toBeGreaterThan(0);
    expect(middle.percent).toBeCloseTo((100 * middle.checkpoint.files) / paths.length, 5);
    // Whoever opened those before it again would see something else.
    const done = paths.slice(0, middle.checkpoint.files);
    expect(Buffer.from(middle.checkpoint.last, 'base64').toString()).toBe(done.at(-1));
    for (const path of done) writeFileSync(join(folder, path), 'changed since');
    const second = start('file/digest@1', { folder }, { checkpoint: middle.checkpoint });
    expect(await second.ended).toEqual(whole);
    expect(second.text()).toContain(`goes on behind ${middle.checkpoint.files} files`);
  });

  it('ends within a read when it is told to stop', async () => {
    // Sparse: reading it takes long, writing it nothing.
    writeFileSync(join(folder, 'huge'), '');
    truncateSync(join(folder, 'huge'), 2 ** 36);
    const running = start('file/digest@1', { folder });
    await running.until((told) => told.begun === 1);
    const since = performance.now();
    running.stop('cancel', 60_000);
    expect(await running.ended).toEqual({ how: 'stopped' });
    expect(performance.now() - since).toBeLessThan(1_000);
  });

  it('names a folder and a file that cannot be read', async () => {
    expect(await run('file/digest@1', { folder: join(folder, 'gone') })).toMatchObject({
      how: 'threw',
      error: { code: 'FOLDER_UNREADABLE', message: expect.stringContaining('gone') },
    });
    if (process.platform !== 'linux') return;
    // One of its files can be read by nobody, root included.
    expect(await run('file/digest@1', { folder: '/proc/sys/net/ipv4/route' })).toMatchObject({
      how: 'threw',
      error: {
        code: 'FILE_UNREADABLE',
        message: expect.stringMatching(/The file flush under .* cannot be read: E/),
      },
    });
  });
});
