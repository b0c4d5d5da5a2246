import { mkdir, mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemFolderLock } from '../../src/system/folder-lock.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'interlock-lock-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const never = (why: string) => {
  throw new Error(`lost: ${why}`);
};

describe('the lock of a folder', () => {
  it('has one holder, and the next one after it was given back', async () => {
    const lock = systemFolderLock();
    const held = await lock.take(folder, never);
    expect(held).toBeDefined();
    expect(await lock.take(folder, never)).toBeUndefined();
    await held?.release();
    await held?.release();
    const next = await lock.take(folder, never);
    expect(next).toBeDefined();
    await next?.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('does not take one that lies there, however old or new it looks', async () => {
    const lock = systemFolderLock();
    for (const at of [new Date(0), new Date(Date.now() + 86_400_000)]) {
      await mkdir(join(folder, 'owner.lock'), { recursive: true });
      await utimes(join(folder, 'owner.lock'), at, at);
      expect(await lock.take(folder, never)).toBeUndefined();
    }
    await lock.breakOpen(folder);
    const held = await lock.take(folder, never);
    expect(held).toBeDefined();
    await held?.release();
  });

  it('shows a sign of life every few seconds', async () => {
    const lock = systemFolderLock();
    const held = await lock.take(folder, never);
    const first = await lock.look(folder);
    expect(first).toEqual(await lock.look(folder));
    let next = await lock.look(folder);
    while (next?.stamp === first?.stamp) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      next = await lock.look(folder);
    }
    expect(Math.abs((next?.touchedAtMs ?? 0) - Date.now())).toBeLessThan(10_000);
    await held?.release();
    expect(await lock.look(folder)).toBeUndefined();
  });

  it('tells its holder, once and not as a throw, when it was taken away or altered', async () => {
    const lock = systemFolderLock();
    for (const harm of [
      () => lock.breakOpen(folder),
      () => utimes(join(folder, 'owner.lock'), new Date(), new Date(Date.now() + 86_400_000)),
    ]) {
      const lost: string[] = [];
      const told = Promise.withResolvers<void>();
      // Held for good before it is harmed: what is broken while it is still being taken is not lost but not had.
      expect(
        await lock.take(folder, (why) => {
          lost.push(why);
          told.resolve();
        }),
      ).toBeDefined();
      await harm();
      await told.promise;
      expect(lost).toHaveLength(1);
      await lock.breakOpen(folder);
    }
  });

  it('lets one at a time through the door, also when the work throws', async () => {
    const lock = systemFolderLock();
    let inside = 0;
    let most = 0;
    const visits = Array.from({ length: 6 }, (_, i) =>
      lock.door(folder, async () => {
        most = Math.max(most, ++inside);
        await new Promise(setImmediate);
        inside--;
        if (i === 2) throw new Error('tripped');
        return i;
      }),
    );
    const done = await Promise.allSettled(visits);
    expect(most).toBe(1);
    expect(done.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    expect(await readdir(folder)).toEqual([]);
  });

  it('has its door show life so often that two late signs do not have it broken', async () => {
    const lock = systemFolderLock();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const everyMs = () => timers.mock.calls.map(([, ms]) => ms ?? 0).filter((ms) => ms > 0);
    try {
      await lock.door(folder, async () => expect(everyMs()).toEqual([1_000]));
      timers.mockClear();
      const held = await lock.take(folder, never);
      expect(everyMs()).toEqual([3_000]);
      await held?.release();
    } finally {
      timers.mockRestore();
    }
  });

  it('opens a door that a killed process left shut, in bounded time', async () => {
    await mkdir(join(folder, 'owner.door'));
    const future = new Date(Date.now() + 86_400_000);
    await utimes(join(folder, 'owner.door'), future, future);
    const from = performance.now();
    expect(await systemFolderLock().door(folder, async () => 'in')).toBe('in');
    expect(performance.now() - from).toBeLessThan(20_000);
  });
});
