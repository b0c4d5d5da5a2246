import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Disk } from '../../src/ports/disk.ts';

/** What every disk keeps. `folder` exists and is empty. */
export function diskCases(
  name: string,
  make: () => Promise<{ disk: Disk; folder: string; done?(): Promise<void> }>,
) {
  const on = (say: string, work: (disk: Disk, folder: string) => Promise<void>) =>
    it(say, async () => {
      const { disk, folder, done } = await make();
      try {
        await work(disk, folder);
      } finally {
        await done?.();
      }
    });

  describe(`disk: ${name}`, () => {
    on('gives back what was written, text and bytes', async (disk, folder) => {
      await disk.writeFile(join(folder, 'text'), 'Grüße, 世界\n');
      await disk.writeFile(join(folder, 'bytes'), new Uint8Array([0, 255, 10]));
      expect(text(await disk.readFile(join(folder, 'text')))).toBe('Grüße, 世界\n');
      expect([...(await disk.readFile(join(folder, 'bytes')))]).toEqual([0, 255, 10]);
    });

    on('replaces a file as a whole', async (disk, folder) => {
      await disk.writeFile(join(folder, 'a'), 'a long first text');
      await disk.writeFile(join(folder, 'a'), 'short');
      expect(text(await disk.readFile(join(folder, 'a')))).toBe('short');
    });

    on('writes a large file whole', async (disk, folder) => {
      const large = 'x'.repeat(5_000_000);
      await disk.writeFile(join(folder, 'a'), large);
      expect((await disk.stat(join(folder, 'a')))?.bytes).toBe(5_000_000);
    });

    on('leaves one whole version after writes at the same time', async (disk, folder) => {
      const versions = Array.from({ length: 8 }, (_, i) => String(i).repeat(10_000));
      await Promise.all(versions.map((version) => disk.writeFile(join(folder, 'a'), version)));
      expect(versions).toContain(text(await disk.readFile(join(folder, 'a'))));
    });

    on(
      'lists names in order, leaves no temporaries, and takes an absent folder for empty',
      async (disk, folder) => {
        await disk.makeFolder(join(folder, 'b'));
        await Promise.all(['c', 'a', 'B'].map((n) => disk.writeFile(join(folder, n), n)));
        expect(await disk.list(folder)).toEqual(['B', 'a', 'b', 'c']);
        expect(await disk.list(join(folder, 'absent'))).toEqual([]);
      },
    );

    on('rejects with ENOENT for what is not there', async (disk, folder) => {
      await expect(disk.readFile(join(folder, 'absent'))).rejects.toMatchObject({ code: 'ENOENT' });
      await expect(disk.writeFile(join(folder, 'absent', 'a'), '')).rejects.toMatchObject({
        code: 'ENOENT',
      });
      await expect(disk.rename(join(folder, 'absent'), join(folder, 'b'))).rejects.toMatchObject({
        code: 'ENOENT',
      });
      expect(await disk.list(folder)).toEqual([]);
    });

    on('tells size and time of a file, and nothing of an absent one', async (disk, folder) => {
      await disk.writeFile(join(folder, 'a'), 'abc');
      const stat = await disk.stat(join(folder, 'a'));
      expect(stat?.bytes).toBe(3);
      expect(stat?.modifiedMs).toBeGreaterThan(Date.UTC(2025, 0, 1));
      expect(stat?.allocatedBytes).toBeGreaterThanOrEqual(0);
      expect(await disk.stat(join(folder, 'absent'))).toBeUndefined();
    });

    on('removes a file, and does not mind an absent one', async (disk, folder) => {
      await disk.writeFile(join(folder, 'a'), '');
      await disk.remove(join(folder, 'a'));
      await disk.remove(join(folder, 'a'));
      expect(await disk.list(folder)).toEqual([]);
    });

    on('renames over what is there', async (disk, folder) => {
      await disk.writeFile(join(folder, 'a'), 'new');
      await disk.writeFile(join(folder, 'b'), 'old');
      await disk.rename(join(folder, 'a'), join(folder, 'b'));
      expect(await disk.list(folder)).toEqual(['b']);
      expect(text(await disk.readFile(join(folder, 'b')))).toBe('new');
    });

    on('appends, makes the file, and keeps appended lines whole', async (disk, folder) => {
      const file = join(folder, 'a');
      await disk.appendFile(file, 'first\n');
      const lines = Array.from({ length: 20 }, (_, i) => `line ${i} ${'x'.repeat(500)}\n`);
      await Promise.all(lines.map((line) => disk.appendFile(file, line)));
      const found = text(await disk.readFile(file)).split(/(?<=\n)/);
      expect(found[0]).toBe('first\n');
      expect(found.slice(1).sort()).toEqual(lines.sort());
    });

    on('gives a part, shorter where the file ends before', async (disk, folder) => {
      await disk.writeFile(join(folder, 'a'), '0123456789');
      expect(text(await disk.readPart(join(folder, 'a'), 3, 4))).toBe('3456');
      expect(text(await disk.readPart(join(folder, 'a'), 8, 10))).toBe('89');
      expect(text(await disk.readPart(join(folder, 'a'), 20, 10))).toBe('');
      await expect(disk.readPart(join(folder, 'absent'), 0, 1)).rejects.toMatchObject({
        code: 'ENOENT',
      });
    });

    on('writes over what is there, shorter or longer, and nothing else', async (disk, folder) => {
      const file = join(folder, 'a');
      await disk.writeFile(file, '0123456789');
      await disk.writeOver(file, 'short');
      expect(text(await disk.readFile(file))).toBe('short');
      await disk.writeOver(file, 'longer than it was');
      expect(text(await disk.readFile(file))).toBe('longer than it was');
      await expect(disk.writeOver(join(folder, 'absent'), '')).rejects.toMatchObject({
        code: 'ENOENT',
      });
      expect(await disk.list(folder)).toEqual(['a']);
    });

    on('tells that there is room', async (disk, folder) => {
      expect(await disk.freeBytes(folder)).toBeGreaterThan(0);
    });

    on('makes folders with their parents, twice is fine', async (disk, folder) => {
      const deep = join(folder, 'x', 'y', 'z');
      await disk.makeFolder(deep);
      await disk.makeFolder(deep);
      await disk.writeFile(join(deep, 'a'), '1');
      await disk.syncFolder(deep);
      expect(await disk.list(join(folder, 'x'))).toEqual(['y']);
    });

    on('rejects a sync of a folder that is not there', async (disk, folder) => {
      await expect(disk.syncFolder(join(folder, 'absent'))).rejects.toMatchObject({
        code: 'ENOENT',
      });
    });
  });
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}
