import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkSpool } from '../../src/cli/doctor/spool-checks.ts';
import { inspectSpool } from '../../src/spool/index.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemDisk } from '../../src/system/disk.ts';
import { systemFolderLock } from '../../src/system/folder-lock.ts';
import { systemProcessInfo } from '../../src/system/process-info.ts';
import { systemRandom } from '../../src/system/random.ts';
import { openGarage } from './spool-world.ts';

/** What doctor says of the reserve of a spool that was given back, after something was done to it. */
async function reserveAfter(deed: (reserve: string) => void) {
  const { folder, spool } = await openGarage();
  await spool.close();
  const reserve = join(folder, 'reserve');
  deed(reserve);
  const found = await inspectSpool({
    disk: systemDisk(),
    clock: systemClock(),
    random: systemRandom(),
    lock: systemFolderLock(),
    processInfo: await systemProcessInfo(),
    folder,
  });
  const again = await openGarage(folder);
  const { why } = again.spool.stats();
  await again.spool.close();
  const check = checkSpool(found).find(({ name }) => name === 'spool reserve');
  return { reserve, check, why, folder };
}

describe.skipIf(process.platform === 'win32')('doctor on the reserve', () => {
  it('is content with the one that a worker made', async () => {
    const { check, why } = await reserveAfter(() => {});
    expect(check).toMatchObject({ state: 'ok', says: expect.stringContaining('4 MB are kept') });
    expect(why).toBeUndefined();
  });

  it.each<[string, (reserve: string) => void, string]>([
    ['a folder', (reserve) => mkdirSync(reserve), 'is no regular file'],
    [
      'a link',
      (reserve) => symlinkSync('/dev/zero', reserve),
      'is a symbolic link, which is not followed',
    ],
  ])('fails for %s in its place, which the worker names too', async (_, put, words) => {
    const { reserve, check, why, folder } = await reserveAfter((path) => {
      rmSync(path);
      put(path);
    });
    expect(check).toEqual({
      name: 'spool reserve',
      state: 'fail',
      says: `${reserve} ${words}: the worker can make no reserve there, and claims nothing`,
      fix: expect.stringContaining('Move it away'),
    });
    expect(why).toBe(
      `the reserve of the spool ${folder} cannot be made: ${reserve} ${words}. Move it away; the worker goes on by itself after that`,
    );
  });

  it('warns of one with holes, which the next start makes anew', async () => {
    const { reserve, check, why } = await reserveAfter((path) => {
      writeFileSync(path, '');
      truncateSync(path, 4_194_304);
    });
    expect(check).toMatchObject({
      state: 'warn',
      says: expect.stringContaining('has 4194304 bytes, and takes only 0 of the disk'),
      fix: expect.stringContaining('makes it anew at its start'),
    });
    expect(why).toBeUndefined();
    expect((await systemDisk().stat(reserve))?.allocatedBytes).toBeGreaterThanOrEqual(4_194_304);
  });
});
