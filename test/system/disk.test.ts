import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs, { existsSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemDisk } from '../../src/system/disk.ts';
import { whileBusy } from '../../src/system/while-busy.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'interlock-disk-'));
});
afterEach(() => rm(folder, { recursive: true }));

const onUnix = process.platform !== 'win32';
const mode = async (path: string) => (await stat(path)).mode & 0o777;

describe('the real disk', () => {
  it.skipIf(!onUnix)('makes files for the owner alone in folders for the owner alone', async () => {
    const disk = systemDisk();
    await disk.makeFolder(join(folder, 'a', 'b'));
    await disk.writeFile(join(folder, 'a', 'b', 'written'), '1');
    await disk.appendFile(join(folder, 'a', 'b', 'appended'), '1');
    expect(await mode(join(folder, 'a'))).toBe(0o700);
    expect(await mode(join(folder, 'a', 'b'))).toBe(0o700);
    expect(await mode(join(folder, 'a', 'b', 'written'))).toBe(0o600);
    expect(await mode(join(folder, 'a', 'b', 'appended'))).toBe(0o600);
  });

  it('takes room with bytes that no file system can pack', async () => {
    const path = join(folder, 'room');
    await systemDisk().takeRoom(path, 4_194_304);
    const bytes = await readFile(path);
    expect(bytes.length).toBe(4_194_304);
    // Every byte value about as often as every other one.
    const counts = new Uint32Array(256);
    for (const byte of bytes) counts[byte] = (counts[byte] ?? 0) + 1;
    expect(Math.min(...counts)).toBeGreaterThan(15_500);
    expect(Math.max(...counts)).toBeLessThan(17_300);
  });

  it.skipIf(!onUnix)('tells what a file takes on the disk: a hole takes nothing', async () => {
    const disk = systemDisk();
    const bytes = 1_048_576;
    const sparse = await open(join(folder, 'sparse'), 'w');
    await sparse.truncate(bytes);
    await sparse.close();
    await disk.writeFile(join(folder, 'full'), randomBytes(bytes));
    expect(await disk.stat(join(folder, 'sparse'))).toMatchObject({ bytes, allocatedBytes: 0 });
    const full = await disk.stat(join(folder, 'full'));
    expect(full?.allocatedBytes).toBeGreaterThanOrEqual(bytes);
  });

  it('syncs the file before the rename, and the folder when asked (seen from the calls)', async () => {
    const calls: string[] = [];
    const probe = await open(folder, 'r');
    const handles = Object.getPrototypeOf(probe) as { sync(): Promise<void> };
    await probe.close();
    const { fsync, rename } = fs;
    const handleSync = vi.spyOn(handles, 'sync').mockImplementation(async () => {
      calls.push('sync folder');
    });
    const fileSync = vi.spyOn(fs, 'fsync').mockImplementation((fd, done) => {
      calls.push('sync file');
      fsync(fd, done);
    });
    const renaming = vi.spyOn(fs, 'rename').mockImplementation((from, to, done) => {
      calls.push('rename');
      rename(from, to, done);
    });
    try {
      const disk = systemDisk();
      await disk.writeFile(join(folder, 'a'), '1');
      await disk.syncFolder(folder);
      await systemDisk('win32').syncFolder(folder);
      expect(calls).toEqual(['sync file', 'rename', 'sync folder']);
    } finally {
      for (const spy of [handleSync, fileSync, renaming]) spy.mockRestore();
    }
  });

  it('leaves the old file and no temporary when the rename fails (F34)', async () => {
    await mkdir(join(folder, 'target'));
    await expect(systemDisk().writeFile(join(folder, 'target'), 'new')).rejects.toMatchObject({
      code: expect.stringMatching(/^E/),
    });
    expect(await readdir(folder)).toEqual(['target']);
  });

  it('replaces a file that others hold open for reading, 500 times; they read the old one to its end (F34)', async () => {
    const disk = systemDisk();
    const file = join(folder, 'target');
    await writeFile(file, 'version 0');
    for (let i = 1; i <= 500; i++) {
      const reader = await open(file, 'r');
      await disk.writeFile(file, `version ${i}`);
      expect(await readFile(file, 'utf8')).toBe(`version ${i}`);
      if (onUnix) expect(String(await reader.readFile())).toBe(`version ${i - 1}`);
      await reader.close();
    }
    expect(await readdir(folder)).toEqual(['target']);
  });

  it.each(['EPERM', 'EACCES', 'EBUSY'])(
    'on Windows waits for whoever holds the target (%s): it is whole all the while, and is replaced, renamed and removed in the end (F34)',
    async (code) => {
      const file = join(folder, 'target');
      await writeFile(file, 'old');
      const held = () => Object.assign(new Error(code), { code });
      const seen: string[] = [];
      let refusals = 0;
      const { rename } = fs;
      const renaming = vi.spyOn(fs, 'rename').mockImplementation((from, to, done) => {
        seen.push(fs.readFileSync(to, 'utf8'));
        if (refusals++ < 3) done(held());
        else rename(from, to, done);
      });
      const opened = vi.spyOn(fs, 'open');
      try {
        await systemDisk('win32').writeFile(file, 'new');
        expect(seen).toEqual(['old', 'old', 'old', 'old']);
        // Nobody has opened the target itself for writing.
        expect(opened.mock.calls.map(([path]) => path)).not.toContain(file);
        expect(await readFile(file, 'utf8')).toBe('new');
        expect(await readdir(folder)).toEqual(['target']);
        refusals = 0;
        await expect(systemDisk('linux').writeFile(file, 'newer')).rejects.toMatchObject({ code });
        expect(await readFile(file, 'utf8')).toBe('new');
        expect(await readdir(folder)).toEqual(['target']);
      } finally {
        renaming.mockRestore();
        opened.mockRestore();
      }
    },
  );

  it.skipIf(!existsSync('/dev/shm'))(
    'never writes, appends or reads through a link, nor renames across file systems (F34)',
    async () => {
      const elsewhere = await mkdtemp('/dev/shm/interlock-disk-');
      try {
        const { symlink } = await import('node:fs/promises');
        await writeFile(join(elsewhere, 'file'), 'old');
        await symlink(join(elsewhere, 'file'), join(folder, 'link'));
        const link = join(folder, 'link');
        const looped = { code: 'ELOOP' };
        await expect(systemDisk().writeFile(link, 'new')).rejects.toMatchObject(looped);
        await expect(systemDisk().appendFile(link, 'new')).rejects.toMatchObject(looped);
        await expect(systemDisk().readFile(link)).rejects.toMatchObject(looped);
        await expect(systemDisk().restrict(link)).rejects.toMatchObject(looped);
        expect(await systemDisk().look(link)).toMatchObject({ kind: 'link' });
        expect(await systemDisk().look(link, { follow: true })).toMatchObject({ kind: 'file' });
        expect(await readdir(elsewhere)).toEqual(['file']);
        await expect(
          systemDisk().rename(join(elsewhere, 'file'), join(folder, 'moved')),
        ).rejects.toMatchObject({ code: 'EXDEV' });
        expect(await readFile(join(elsewhere, 'file'), 'utf8')).toBe('old');
      } finally {
        await rm(elsewhere, { recursive: true });
      }
    },
  );

  it.skipIf(process.platform !== 'linux')(
    'rejects a write that only fits in part, and keeps the old file whole',
    async () => {
      // A limit on the size of files makes the system take a part of a write, as a full disk does.
      const script = `
        import { systemDisk } from ${JSON.stringify(join(import.meta.dirname, '../../src/system/disk.ts'))};
        import { readdirSync, readFileSync } from 'node:fs';
        process.on('SIGXFSZ', () => {});
        const disk = systemDisk();
        await disk.writeFile('a', 'old');
        const code = await disk.writeFile('a', 'x'.repeat(300_000)).then(() => 'none', (e) => e.code);
        console.log(code, readFileSync('a', 'utf8'), readdirSync('.').join());
      `;
      const run = spawnSync(
        '/bin/sh',
        ['-c', 'ulimit -f 200; exec "$0" --input-type=module -e "$1"', process.execPath, script],
        { cwd: folder, encoding: 'utf8' },
      );
      expect(run.stderr).toBe('');
      expect(run.stdout.trim()).toBe('EFBIG old a');
    },
  );
});

describe('while a file is busy on Windows (F34)', () => {
  const failing = (times: number, code: string) => {
    let calls = 0;
    return {
      work: async () => {
        if (++calls <= times) throw Object.assign(new Error(code), { code });
        return calls;
      },
      calls: () => calls,
    };
  };

  it.each(['EPERM', 'EACCES', 'EBUSY'])('tries again on %s until it works', async (code) => {
    expect(await whileBusy('win32', failing(3, code).work)).toBe(4);
  });

  it('gives up after its bound with the system’s error', async () => {
    const always = failing(1_000, 'EPERM');
    await expect(whileBusy('win32', always.work)).rejects.toMatchObject({ code: 'EPERM' });
    expect(always.calls()).toBe(14);
  });

  it('takes other errors, and any error elsewhere, at their word', async () => {
    const full = failing(1, 'ENOSPC');
    await expect(whileBusy('win32', full.work)).rejects.toMatchObject({ code: 'ENOSPC' });
    const linux = failing(1, 'EPERM');
    await expect(whileBusy('linux', linux.work)).rejects.toMatchObject({ code: 'EPERM' });
    expect(full.calls() + linux.calls()).toBe(2);
  });
});

it.skipIf(process.platform !== 'linux')(
  'refuses a folder where none can be made, instead of asking for ever',
  async () => {
    await expect(systemDisk().makeFolder('/proc/nowhere/spool')).rejects.toMatchObject({
      code: 'ENOENT',
    });
  },
);
