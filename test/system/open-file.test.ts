import fs from 'node:fs';
import {
  mkdtemp,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SimulatedMachine } from '../../sim/machine.ts';
import type { Disk } from '../../src/ports/disk.ts';
import { systemDisk } from '../../src/system/disk.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'interlock-open-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function simulated(): Promise<Disk> {
  const { disk } = new SimulatedMachine().start();
  await disk.makeFolder(folder);
  return disk;
}

describe.each([
  ['real', async () => systemDisk()],
  ['simulated', simulated],
])('a file that is added to, on the %s disk', (_, disk) => {
  it('holds what was added, in its order', async () => {
    const on = await disk();
    const path = join(folder, 'a');
    const file = await on.makeOpen(path);
    const parts = ['one\n', 'zwei, 世界\n', '', 'x'.repeat(300_000)];
    for (const part of parts) {
      await file.add(part);
      await file.sync();
    }
    await file.close();
    await file.close();
    expect(Buffer.from(await on.readFile(path)).toString()).toBe(parts.join(''));
    await on.syncFile(path);
  });

  it('is new: what lies there is not touched', async () => {
    const on = await disk();
    const path = join(folder, 'a');
    await on.writeFile(path, 'there');
    await expect(on.makeOpen(path)).rejects.toMatchObject({ code: 'EEXIST' });
    expect(Buffer.from(await on.readFile(path)).toString()).toBe('there');
  });

  it('and that was removed meanwhile is not synced: what is in it would be lost with it', async () => {
    const on = await disk();
    const path = join(folder, 'a');
    const file = await on.makeOpen(path);
    await file.add('one');
    await file.sync();
    await on.remove(path);
    await file.add('two');
    await expect(file.sync()).rejects.toMatchObject({ code: 'ENOENT' });
    await file.close();
    await expect(on.syncFile(path)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

it.skipIf(process.platform === 'win32')(
  'is for its owner alone, and never made through a link',
  async () => {
    const file = await systemDisk().makeOpen(join(folder, 'a'));
    await file.close();
    expect((await stat(join(folder, 'a'))).mode & 0o777).toBe(0o600);
    await symlink(join(folder, 'elsewhere'), join(folder, 'link'));
    await expect(systemDisk().makeOpen(join(folder, 'link'))).rejects.toMatchObject({
      code: 'EEXIST',
    });
    await expect(stat(join(folder, 'elsewhere'))).rejects.toMatchObject({ code: 'ENOENT' });
  },
);

it('that was moved away is not synced: nobody would find it', async () => {
  const file = await systemDisk().makeOpen(join(folder, 'a'));
  await rename(join(folder, 'a'), join(folder, 'b'));
  await file.add('one');
  await expect(file.sync()).rejects.toMatchObject({ code: 'ENOENT' });
  await file.close();
});

it('that somebody has cut is not synced: what was added before is gone', async () => {
  const path = join(folder, 'a');
  const file = await systemDisk().makeOpen(path);
  await file.add('one');
  await file.sync();
  await truncate(path, 1);
  await file.add('2');
  await expect(file.sync()).rejects.toMatchObject({ code: 'EIO' });
  await file.close();
});

it('that somebody else has put in its place is not synced for it', async () => {
  const path = join(folder, 'a');
  const file = await systemDisk().makeOpen(path);
  await unlink(path);
  await writeFile(path, 'another');
  await expect(file.sync()).rejects.toMatchObject({ code: 'ENOENT' });
  await file.close();
});

it('is synced by the system before it says so, and written to its end where the disk takes a part', async () => {
  const calls: string[] = [];
  const { fdatasync, write } = fs;
  const syncing = vi.spyOn(fs, 'fdatasync').mockImplementation((fd, done) => {
    fdatasync(fd, (error) => {
      calls.push('synced');
      done(error);
    });
  });
  const writing = vi.spyOn(fs, 'write').mockImplementation(((
    ...args: [number, Buffer, number, number, null, (error: Error | null, done: number) => void]
  ) => {
    const [fd, bytes, from, count, at, done] = args;
    calls.push('write');
    write(fd, bytes, from, Math.min(count, 4), at, done);
  }) as never);
  try {
    const file = await systemDisk().makeOpen(join(folder, 'a'));
    await file.add('0123456789');
    await file.sync();
    calls.push('told');
    await file.close();
    expect(calls).toEqual(['write', 'write', 'write', 'synced', 'told']);
    expect(await readFile(join(folder, 'a'), 'utf8')).toBe('0123456789');
  } finally {
    syncing.mockRestore();
    writing.mockRestore();
  }
});

it('is cut to what it held where a write fails in the midst', async () => {
  const { write } = fs;
  const file = await systemDisk().makeOpen(join(folder, 'a'));
  await file.add('before\n');
  let calls = 0;
  const full = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
  const writing = vi.spyOn(fs, 'write').mockImplementation(((
    ...args: [number, Buffer, number, number, null, (error: Error | null, done: number) => void]
  ) => {
    const [fd, bytes, from, , at, done] = args;
    if (calls++ === 0) write(fd, bytes, from, 4, at, done);
    else done(full, 0);
  }) as never);
  await expect(file.add('0123456789')).rejects.toBe(full);
  writing.mockRestore();
  await file.add('after\n');
  await file.close();
  expect(await readFile(join(folder, 'a'), 'utf8')).toBe('before\nafter\n');
});

it.each(['fails', 'is short'])(
  'that is closed while a write is under way which %s is let go after it, and what was added by then stays',
  async (how) => {
    const { write, close } = fs;
    const path = join(folder, 'a');
    const file = await systemDisk().makeOpen(path);
    await file.add('before\n');
    const calls: string[] = [];
    const { promise: began, resolve: begin } = Promise.withResolvers<() => void>();
    const writing = vi.spyOn(fs, 'write').mockImplementationOnce(((
      ...args: [number, Buffer, number, number, null, (error: Error | null, done: number) => void]
    ) => {
      const [fd, bytes, from, , at, done] = args;
      const told = (error: Error | null, count: number) => {
        calls.push('written');
        done(error, count);
      };
      begin(() => {
        if (how === 'fails') told(Object.assign(new Error('EIO'), { code: 'EIO' }), 0);
        else write(fd, bytes, from, 4, at, told);
      });
    }) as never);
    const closing = vi.spyOn(fs, 'close').mockImplementation(((fd: number, done: () => void) => {
      calls.push('closed');
      close(fd, done);
    }) as never);
    try {
      const adding = file.add('0123456789').catch(({ code }) => code);
      const go = await began;
      const ending = file.close();
      await systemDisk().appendFile(path, 'by another\n');
      calls.length = 0;
      go();
      expect(await adding).toBe(how === 'fails' ? 'EIO' : 'EBADF');
      await ending;
      expect(calls).toEqual(['written', 'closed']);
      await expect(file.add('after')).rejects.toMatchObject({ code: 'EBADF' });
      const left = how === 'fails' ? '' : '0123';
      expect(await readFile(path, 'utf8')).toBe(`before\nby another\n${left}`);
    } finally {
      writing.mockRestore();
      closing.mockRestore();
    }
  },
);

it('asks the disk in the thread pool: one that hangs holds up nothing else', async () => {
  const file = await systemDisk().makeOpen(join(folder, 'a'));
  const held = (['writeSync', 'fdatasyncSync', 'fsyncSync'] as const).map((name) =>
    vi.spyOn(fs, name),
  );
  try {
    await file.add('small\n');
    await file.add('x'.repeat(100_000));
    await file.sync();
    for (const one of held) expect(one).not.toHaveBeenCalled();
  } finally {
    for (const one of held) one.mockRestore();
    await file.close();
  }
});
