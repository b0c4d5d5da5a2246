import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { storage, storageOf, timeSyncs } from '../../src/system/storage.ts';

function folder(below = tmpdir()): string {
  const made = mkdtempSync(join(below, 'interlock-storage-'));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

const told = (type: bigint) => ({ type, bavail: 10n, bsize: 4_096n, files: 0n, ffree: 0n });

describe('what a folder lies on', () => {
  it.each([
    [0xef53n, 'disk', 'ext4'],
    [0x01021994n, 'memory', 'tmpfs'],
    [0x794c7630n, 'overlay', 'overlay'],
    [0x6969n, 'network', 'nfs'],
    // As a signed number of 64 bits, where a kernel tells it so.
    [0xffffffffff534d42n, 'network', 'cifs'],
    [0x01021997n, 'network', '9p'],
    [0x65735546n, 'user-space', 'fuse'],
    [0x1234n, 'unknown', '0x1234'],
  ])('of type %s on Linux is %s, %s', (type, kind, name) => {
    expect(storage(told(type), 'linux')).toEqual({ kind, name, freeBytes: 40_960 });
  });

  it('is not guessed on other systems', () => {
    expect(storage(told(0x6969n), 'darwin')).toMatchObject({ kind: 'unknown', name: 'unknown' });
  });

  it('is told of a real folder, with its room; of none that is not there', async () => {
    expect(await storageOf(folder())).toMatchObject({ freeBytes: expect.any(Number) });
    expect(await storageOf(join(folder(), 'nowhere'))).toBeUndefined();
    if (process.platform === 'linux')
      expect(await storageOf('/dev/shm')).toMatchObject({ kind: 'memory', name: 'tmpfs' });
  });
});

describe('the time of fsync', () => {
  it('is measured in rounds, and the file is gone after', () => {
    const here = folder();
    const times = timeSyncs(here, 'doctor-00.probe', 5);
    expect(times).toHaveLength(5);
    for (const ms of times) expect(ms).toBeGreaterThan(0);
    expect(readdirSync(here)).toEqual([]);
  });

  it('is refused where something has that name, and harms nothing', () => {
    const here = folder();
    writeFileSync(join(here, 'doctor-00.probe'), 'mine');
    expect(() => timeSyncs(here, 'doctor-00.probe', 1)).toThrow(/EEXIST/);
    expect(readdirSync(here)).toEqual(['doctor-00.probe']);
  });
});
