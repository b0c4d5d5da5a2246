import { mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemDisk } from '../../src/system/disk.ts';

/** What no reader of a file can see: that the system was really asked to make a name durable. */
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'interlock-sync-'));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

/** Inodes of everything that is fsynced from now on. */
async function watchSyncs(): Promise<number[]> {
  const handle = await open(folder, 'r');
  const prototype = Object.getPrototypeOf(handle) as typeof handle;
  await handle.close();
  const synced: number[] = [];
  const { sync } = prototype;
  vi.spyOn(prototype, 'sync').mockImplementation(async function (this: typeof handle) {
    synced.push((await this.stat()).ino);
    await sync.call(this);
  });
  return synced;
}

it.skipIf(process.platform === 'win32')('fsyncs the folder itself', async () => {
  const synced = await watchSyncs();
  await systemDisk().syncFolder(folder);
  expect(synced).toEqual([(await stat(folder)).ino]);
});

it.skipIf(process.platform === 'win32')(
  'fsyncs the parent of every folder that it makes',
  async () => {
    const synced = await watchSyncs();
    await systemDisk().makeFolder(join(folder, 'a', 'b'));
    const inodes = await Promise.all(
      [folder, join(folder, 'a')].map(async (path) => (await stat(path)).ino),
    );
    expect(new Set(synced)).toEqual(new Set(inodes));
  },
);
