import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemFolderLock } from '../../src/system/folder-lock.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'interlock-lock-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const SOURCE = new URL('../../src/system/folder-lock.ts', import.meta.url).href;

/** Timers that fire when they are told to. */
function byHand() {
  const set = new Set<{ ms: number; fire: () => void }>();
  let another = Promise.withResolvers<number>();
  return {
    timers: {
      timer: (ms: number, fire: () => void) => {
        const one = { ms, fire };
        set.add(one);
        another.resolve(ms);
        return { cancel: () => set.delete(one) };
      },
    },
    armedMs: () => [...set].map(({ ms }) => ms),
    /** Fires the only one. Resolves when the next one is set, with for how long. */
    pass: () => {
      const [one] = set;
      if (!one) throw new Error('no timer is set');
      set.clear();
      another = Promise.withResolvers();
      one.fire();
      return another.promise;
    },
  };
}

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

  it('shows a sign of life every five seconds, whatever time a hand has given it', async () => {
    const { timers, pass } = byHand();
    const lock = systemFolderLock(timers);
    const held = await lock.take(folder, never);
    const first = await lock.look(folder);
    expect(first).toEqual(await lock.look(folder));
    const future = new Date(Date.now() + 86_400_000);
    await utimes(join(folder, 'owner.lock'), future, future);
    expect(await pass()).toBe(5_000);
    const next = await lock.look(folder);
    expect(next?.stamp).not.toBe(first?.stamp);
    expect(Math.abs((next?.touchedAtMs ?? 0) - Date.now())).toBeLessThan(10_000);
    await held?.release();
    expect(await lock.look(folder)).toBeUndefined();
  });

  it('tells its holder, once and not as a throw, when it was taken away or is another one', async () => {
    const lies = join(folder, 'owner.lock');
    for (const harm of [async () => {}, () => writeFile(lies, ''), () => mkdir(lies)]) {
      const { timers, pass, armedMs } = byHand();
      const lock = systemFolderLock(timers);
      const told = Promise.withResolvers<string>();
      const held = await lock.take(folder, told.resolve);
      await lock.breakOpen(folder);
      await harm();
      void pass();
      await told.promise;
      expect(armedMs()).toEqual([]);
      const there = await lock.look(folder);
      // What lies there now is another one's.
      await held?.release();
      expect(await lock.look(folder)).toEqual(there);
      await lock.breakOpen(folder);
    }
  });

  it('tries a sign of life that the disk refused again, and loses nothing by it', async () => {
    const { timers, pass } = byHand();
    const lock = systemFolderLock(timers);
    const held = await lock.take(folder, never);
    await rename(folder, `${folder}-away`);
    await writeFile(folder, '');
    expect(await pass()).toBe(1_000);
    await rm(folder);
    await rename(`${folder}-away`, folder);
    expect(await pass()).toBe(5_000);
    await held?.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is broken open only while it is the one that was judged', async () => {
    const lock = systemFolderLock();
    await writeFile(join(folder, 'owner.lock'), '');
    await utimes(join(folder, 'owner.lock'), new Date(0), new Date(0));
    const judged = (await lock.look(folder))?.stamp;
    await lock.breakOpen(folder);
    expect(await lock.breakOpen(folder, judged)).toBe(false);
    const held = await lock.take(folder, never);
    const fresh = (await lock.look(folder))?.stamp;
    expect(await lock.breakOpen(folder, judged)).toBe(false);
    expect((await lock.look(folder))?.stamp).toBe(fresh);
    expect(await lock.breakOpen(folder, fresh)).toBe(true);
    expect(await readdir(folder)).toEqual([]);
    await held?.release();
  });

  it('tells who stood still behind the door that it is another’s by now', async () => {
    const lock = systemFolderLock(byHand().timers);
    await lock.door(folder, async (stillOurs) => {
      expect(await stillOurs()).toBe(true);
      await rm(join(folder, 'owner.door'));
      expect(await stillOurs()).toBe(false);
      await lock.door(folder, async (theirs) => {
        expect(await stillOurs()).toBe(false);
        expect(await theirs()).toBe(true);
      });
    });
  });

  it('is left by its holder at the end of the process', async () => {
    const script = `
      const { systemFolderLock } = await import(${JSON.stringify(SOURCE)});
      await systemFolderLock().take(${JSON.stringify(folder)}, () => {});
      process.exit();`;
    const run = promisify(execFile);
    await run(process.execPath, ['--input-type=module', '-e', script]);
    expect(await readdir(folder)).toEqual([]);
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
    const { timers, armedMs } = byHand();
    const lock = systemFolderLock(timers);
    await lock.door(folder, async () => expect(armedMs()).toEqual([1_000]));
    expect(armedMs()).toEqual([]);
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
