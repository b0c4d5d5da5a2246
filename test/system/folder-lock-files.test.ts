import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

/** What the system says of the lock's file, where it is not what it is. */
const says = vi.hoisted(() => ({ dev: undefined as bigint | undefined, code: '' }));

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  type Seen = (error: Error | null, stats: object) => void;
  return {
    ...fs,
    // One of the same number, on another file system.
    stat: (path: string, how: object, seen: Seen) =>
      fs.stat(path, how, (error, stats) => {
        if (!error && says.dev !== undefined) Object.assign(stats, { dev: says.dev });
        seen(error, stats);
      }),
    futimes: (fd: number, at: number, mt: number, done: (error: Error | null) => void) =>
      says.code === ''
        ? fs.futimes(fd, at, mt, done)
        : done(Object.assign(new Error(`${says.code}: told by a test`), { code: says.code })),
  };
});

/** What happens right before a file is moved. */
const before = vi.hoisted(() => ({ move: async () => {} }));

vi.mock('node:fs/promises', async (original) => {
  const fs = await original<typeof import('node:fs/promises')>();
  return {
    ...fs,
    rename: async (from: string, to: string) => {
      await before.move();
      await fs.rename(from, to);
    },
  };
});

const { systemFolderLock } = await import('../../src/system/folder-lock.ts');

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'interlock-lock-'));
  Object.assign(says, { dev: undefined, code: '' });
  before.move = async () => {};
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function held() {
  let fire: (() => void) | undefined;
  const told = Promise.withResolvers<string>();
  const armed = { again: Promise.withResolvers<number>() };
  const lock = systemFolderLock({
    timer: (ms, act) => {
      fire = act;
      armed.again.resolve(ms);
      return { cancel: () => {} };
    },
  });
  const one = await lock.take(folder, told.resolve);
  return {
    one,
    told: told.promise,
    lifeSign: () => {
      armed.again = Promise.withResolvers();
      fire?.();
      return Promise.race([armed.again.promise, told.promise]);
    },
  };
}

it.skipIf(process.platform === 'win32')(
  'is lost to a file of the same number on another file system, and leaves that one alone',
  async () => {
    const { one, lifeSign } = await held();
    says.dev = 4_711n;
    expect(await lifeSign()).toMatch('another file lies at');
    await one?.release();
    expect(await readdir(folder)).toEqual(['owner.lock']);
  },
);

it.skipIf(process.platform === 'win32')(
  'is not removed by its holder where another file system lies over it',
  async () => {
    const { one } = await held();
    says.dev = 4_711n;
    await one?.release();
    expect(await readdir(folder)).toEqual(['owner.lock']);
  },
);

it.each(['ESTALE', 'EBADF'])('is lost where the open file is forgotten (%s)', async (code) => {
  const { lifeSign } = await held();
  says.code = code;
  expect(await lifeSign()).toMatch(code);
});

it('is not lost where the disk refuses a sign of life', async () => {
  const { one, lifeSign } = await held();
  says.code = 'EIO';
  expect(await lifeSign()).toBe(1_000);
  await one?.release();
  expect(await readdir(folder)).toEqual([]);
});

it('is put back where it was taken between the last look at its judged predecessor and the break', async () => {
  const path = join(folder, 'owner.lock');
  await writeFile(path, '');
  await utimes(path, new Date(0), new Date(0));
  const lock = systemFolderLock();
  const judged = (await lock.look(folder))?.stamp;
  let fresh: string | undefined;
  let successor: { release(): Promise<void> } | undefined;
  before.move = async () => {
    await lock.breakOpen(folder);
    successor = await lock.take(folder, () => {});
    fresh = (await lock.look(folder))?.stamp;
  };
  expect(await lock.breakOpen(folder, judged)).toBe(false);
  expect(fresh).toBeDefined();
  expect((await lock.look(folder))?.stamp).toBe(fresh);
  expect(await readdir(folder)).toEqual(['owner.lock']);
  await successor?.release();
  expect(await readdir(folder)).toEqual([]);
});

it('is broken where the disk has no room for another name', async () => {
  const lock = systemFolderLock();
  await writeFile(join(folder, 'owner.lock'), '');
  before.move = async () => {
    throw Object.assign(new Error('ENOSPC: told by a test'), { code: 'ENOSPC' });
  };
  expect(await lock.breakOpen(folder, (await lock.look(folder))?.stamp)).toBe(true);
  expect(await readdir(folder)).toEqual([]);
});
