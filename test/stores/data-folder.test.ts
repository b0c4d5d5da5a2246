import fs, {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import { makeKey } from '../../src/control-plane/keys.ts';
import { type DataFolder, openDataFolder } from '../../src/stores/data-folder.ts';
import { takeFolder } from '../../src/stores/folder-owner.ts';

/** What may be a data folder, and what is taken for a loss. */

let folder: string;
const clock = new SimulatedClock();
const random = new SimulatedRandom(3);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'interlock-data-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (dir: string, as: 'owner' | 'visitor' = 'owner'): DataFolder =>
  openDataFolder(dir, { clock, random, as });
const modeOf = (path: string) => statSync(path).mode & 0o7777;
const refusal = (dir: string, as?: 'visitor'): { code: string; message: string; hint: string } => {
  try {
    open(dir, as);
  } catch (error) {
    return error as ReturnType<typeof refusal>;
  }
  throw new Error('it was taken');
};

/** A data folder with so many keys in it, closed in order. */
async function filled(keys: number): Promise<string> {
  const dir = join(folder, 'data');
  const data = open(dir);
  for (let i = 0; i < keys; i++)
    await makeKey(
      { store: data.store, random },
      { kind: 'admin', project: 'p', name: 'x'.repeat(3_000) },
    );
  await data.close();
  return dir;
}

it('has the name of its secret on the disk before anything is signed with it', async () => {
  const calls: string[] = [];
  const paths = new Map<number, string>();
  const real = { ...fs };
  vi.spyOn(fs, 'openSync').mockImplementation((path, ...more) => {
    const fd = real.openSync(path, ...more);
    paths.set(fd, basename(String(path)));
    return fd;
  });
  vi.spyOn(fs, 'linkSync').mockImplementation((from, to) => {
    real.linkSync(from, to);
    calls.push(`link ${basename(String(to))}`);
  });
  vi.spyOn(fs, 'fsyncSync').mockImplementation((fd) => {
    real.fsyncSync(fd);
    calls.push(`sync ${paths.get(fd)?.replace(/\.\w+$/, '')}`);
  });
  syncBuiltinESMExports();
  try {
    await open(join(folder, 'data')).close();
  } finally {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  }
  expect(calls.slice(0, 3)).toEqual(['sync secret', 'link secret', 'sync data']);
});

describe('a folder that was there', () => {
  it('keeps its mode, and what is put into it is for its owner alone', async () => {
    for (const mode of [0o755, 0o1777]) {
      const dir = join(folder, String(mode));
      mkdirSync(dir);
      chmodSync(dir, mode);
      const data = open(dir);
      expect(modeOf(dir)).toBe(mode);
      for (const name of readdirSync(dir)) expect(modeOf(join(dir, name)) & 0o077, name).toBe(0);
      await data.close();
      await open(dir).close();
      expect(modeOf(dir)).toBe(mode);
    }
  });

  it('is refused and left alone where it holds things of others', () => {
    for (const name of ['a.txt', 'b', 'c', 'd']) writeFileSync(join(folder, name), 'x');
    chmodSync(folder, 0o1777);
    expect(refusal(folder)).toMatchObject({
      code: 'DATA_UNUSABLE',
      message: expect.stringMatching(/holds other things \("a\.txt", "b", "c" and 1 more\)/),
      hint: expect.stringContaining('--data'),
    });
    expect(() => open(folder, 'visitor')).toThrow(/holds other things/);
    expect(modeOf(folder)).toBe(0o1777);
    expect(readdirSync(folder)).toHaveLength(4);
  });

  it('is taken where somebody put a file beside our data later, or it is the root of a disk', async () => {
    mkdirSync(join(folder, 'lost+found'));
    await open(folder).close();
    writeFileSync(join(folder, 'notes.txt'), 'x');
    await open(folder).close();
  });
});

describe('a database', () => {
  it.each([
    ['is missing', (file: string) => rmSync(file)],
    ['was emptied', (file: string) => truncateSync(file, 0)],
  ])('that %s beside the secret does not pass as a new start', async (_, lose) => {
    const dir = await filled(1);
    lose(join(dir, 'control-plane.db'));
    const { code, message, hint } = refusal(dir);
    expect(code).toBe('DATA_UNUSABLE');
    expect(message).toMatch(/control-plane\.db is missing or empty, although/);
    expect(hint).toContain('backup');
    expect(hint).toContain(join(dir, 'secret'));
    // As the hint says.
    rmSync(join(dir, 'secret'));
    await open(dir).close();
  });

  it('that was copied without its log before it had tables does not pass as a new start', async () => {
    const dir = await filled(1);
    const file = join(dir, 'control-plane.db');
    rmSync(file);
    const bare = new DatabaseSync(file);
    bare.exec('PRAGMA journal_mode = WAL');
    bare.close();
    expect(statSync(file).size).toBe(4_096);
    expect(refusal(dir)).toMatchObject({
      code: 'DATA_UNUSABLE',
      message: expect.stringMatching(/has no tables and no -wal file beside it, although/),
      hint: expect.stringContaining(join(dir, 'secret')),
    });
    // As the hint says; so goes on what a first start had begun.
    rmSync(join(dir, 'secret'));
    await open(dir).close();
  });

  it('that is copied alone from under a new control plane is refused, and after its first rest has its keys', async () => {
    const dir = join(folder, 'data');
    const copy = join(folder, 'copy');
    // With a disk of its own it folds without a thread.
    const running = openDataFolder(dir, {
      clock,
      random,
      as: 'owner',
      sync: async () => {},
    });
    const copied = () => {
      rmSync(copy, { recursive: true, force: true });
      mkdirSync(copy);
      for (const name of ['control-plane.db', 'secret'])
        copyFileSync(join(dir, name), join(copy, name));
    };
    await makeKey({ store: running.store, random }, { kind: 'admin', project: 'p', name: 'n' });
    copied();
    expect(refusal(copy).message).toContain('has no tables and no -wal file beside it');
    await clock.advance(4_000);
    copied();
    await running.close();
    const other = open(copy);
    expect(await other.store.countKeys()).toBe(1);
    await other.close();
  });

  it('that was cut short is refused with both lengths', async () => {
    const dir = await filled(100);
    const file = join(dir, 'control-plane.db');
    const { size } = statSync(file);
    for (const left of [Math.floor(size / 2), size - 4_096, 50]) {
      truncateSync(file, left);
      expect(refusal(dir)).toMatchObject({
        code: 'DATA_UNUSABLE',
        message: expect.stringContaining(`was cut short: it has ${left} of `),
        hint: expect.stringContaining('backup'),
      });
    }
  });

  it('whose end was overwritten with nothing is refused', async () => {
    const dir = await filled(100);
    const file = join(dir, 'control-plane.db');
    const { size } = statSync(file);
    truncateSync(file, Math.floor(size / 8_192) * 4_096);
    truncateSync(file, size);
    expect(refusal(dir)).toMatchObject({
      code: 'DATA_UNUSABLE',
      message: expect.stringContaining('is damaged'),
    });
  });

  it('of a first start that broke off before it had tables is finished', async () => {
    writeFileSync(join(folder, 'lock'), '');
    writeFileSync(join(folder, 'control-plane.db'), '');
    const data = open(folder);
    expect(await data.store.countKeys()).toBe(0);
    await data.close();
  });
});

it('that another command is bringing up to date is told as that to a second one, which may try again', async () => {
  const other = takeFolder(folder, 0);
  const told = refusal(folder, 'visitor');
  expect(told).toMatchObject({
    code: 'STORE_TOO_OLD',
    message: expect.stringContaining('or is being brought up to date by another command'),
    hint: expect.stringMatching(/^Try again in a moment\./),
  });
  other?.release();
  await open(folder, 'visitor').close();
});
