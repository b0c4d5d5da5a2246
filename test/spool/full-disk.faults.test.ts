import { spawnSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { RealSpools } from './real-spool.ts';
import { complete, META, reportIds } from './world.ts';

const lacking =
  process.platform !== 'linux' || process.getuid?.() !== 0 ? 'mounting needs root on Linux' : '';
if (lacking) console.log(`Skipped: ${lacking}.`);

/** A small file system of its own. `undefined` where this machine does not give one. */
function mounted(kind: 'tmpfs' | 'ext4'): SmallDisk | undefined {
  const home = mkdtempSync(join(tmpdir(), `interlock-${kind}-`));
  const folder = join(home, 'disk');
  mkdirSync(folder);
  const image = join(home, 'image');
  const steps =
    kind === 'tmpfs'
      ? [['mount', '-t', 'tmpfs', '-o', 'size=16m,mode=0700', 'tmpfs', folder]]
      : [
          ['truncate', '-s', '24M', image],
          ['mkfs.ext4', '-q', '-m', '0', image],
          ['mount', '-o', 'loop', image, folder],
        ];
  onTestFinished(() => {
    spawnSync('umount', [folder]);
    rmSync(home, { recursive: true, force: true });
  });
  for (const [command = '', ...args] of steps)
    if (spawnSync(command, args).status !== 0) return undefined;
  return new SmallDisk(folder);
}

class SmallDisk {
  readonly folder: string;
  #fillers = 0;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Up to the last byte: in large pieces, then in small ones. */
  fill(): void {
    const file = openSync(join(this.folder, `.filler-${this.#fillers++}`), 'w');
    for (const piece of [65_536, 1_024, 1])
      try {
        for (;;) writeSync(file, Buffer.alloc(piece, 1));
      } catch {
        // Full, for pieces of this size.
      }
    closeSync(file);
  }

  empty(): void {
    for (const name of readdirSync(this.folder))
      if (name.startsWith('.filler')) rmSync(join(this.folder, name));
  }
}

it.skipIf(lacking).each(['tmpfs', 'ext4'] as const)(
  'a full disk (%s): what runs is reported from the reserve, the next process starts and delivers without a free byte, and it recovers',
  async (kind) => {
    const disk = mounted(kind);
    if (!disk) {
      console.log(`Skipped: no ${kind} can be mounted here.`);
      return;
    }
    const spools = new RealSpools(disk.folder);
    try {
      const child = spools.start();
      await child.message('opened');
      child.process.send({ do: 'write', id: 'att_a' });
      await child.seen(({ messages }) => messages.find((one) => one.durable === 'att_a'));
      disk.fill();
      // The first of them may find room in a block that is begun.
      const written = ['att_a'];
      while (readdirSync(spools.folder).includes('reserve') && written.length < 50) {
        const id = `att_${written.length}`;
        child.process.send({ do: 'write', id });
        await child.seen(({ messages }) => messages.find((one) => one.durable === id));
        written.push(id);
      }
      expect(written.length).toBeLessThan(50);
      // Others take what the reserve has left.
      disk.fill();
      await child.kill();

      const told: (string | undefined)[] = [];
      const well = Promise.withResolvers<void>();
      const opened = await spools.tryOpen({
        onTrouble: (why) => {
          told.push(why);
          if (why === undefined) well.resolve();
        },
      });
      if (!opened.ok) throw opened.error;
      const { spool } = opened;
      expect(reportIds(spool)).toEqual(written);
      expect(spool.stats().why).toContain('ENOSPC');
      for (const one of spool.recovered.reports) {
        expect((await spool.body(one)).op).toBe('complete');
        disk.fill();
        await spool.answered(one);
      }
      await spool.idle();
      expect(readdirSync(join(spools.folder, 'reports'))).toEqual([]);
      // Full again, so that not even a small report fits: it is refused, and nothing of it is left.
      disk.fill();
      await expect(
        spool.writeReport(complete('att_c', 'x'.repeat(50_000)), META),
      ).rejects.toMatchObject({ code: 'SPOOL_WRITE_FAILED' });
      await spool.idle();
      expect(readdirSync(join(spools.folder, 'reports'))).toEqual([]);
      disk.empty();
      await well.promise;
      expect(spool.stats().ok).toBe(true);
      expect(readdirSync(spools.folder)).toContain('reserve');
      await spool.writeReport(complete('att_c'), META);
      await spool.close();
      expect(told.at(-1)).toBeUndefined();
    } finally {
      for (const child of spools.children) child.kill('SIGKILL');
    }
  },
  60_000,
);
