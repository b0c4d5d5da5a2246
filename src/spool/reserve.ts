import { join } from 'node:path';
import { spoolDefaults } from '../core/defaults.ts';
import type { Disk } from '../ports/disk.ts';
import { causeCode } from './errors.ts';
import type { Layout } from './layout.ts';
import { oddity } from './private.ts';

/**
 * Room that a spool keeps for what already runs: a file whose bytes are really there. Phases: *made* → *given up* (the
 * disk is full, so it goes first) → *made* again, once there is room for it and some more. While it is given up nothing is
 * claimed. It stays when the spool is closed: the next start may find the disk full.
 */
export class Reserve {
  readonly #disk: Disk;
  readonly #layout: Layout;
  readonly #bytes: number;
  #made = false;
  #making: Promise<void> | undefined;
  #going: Promise<void> | undefined;
  /** Tries to be left out, now and after the next one that fails; and why. */
  #skip = 0;
  #skips = 0;
  #refused: unknown;
  /** When we wrote it: a file system that tells no blocks (or late) is asked for nothing more. */
  #writtenMs: number | undefined;

  /** @param bytes 0: none is wanted. */
  constructor(disk: Disk, layout: Layout, bytes: number) {
    this.#disk = disk;
    this.#layout = layout;
    this.#bytes = bytes;
  }

  /** There is one, or none is wanted. */
  get made(): boolean {
    return this.#made || this.#bytes === 0;
  }

  /** There is something that can be given up, or will be in a moment. */
  get there(): boolean {
    return this.#made || this.#making !== undefined;
  }

  /** Takes over what an earlier session left. Rejects with the disk's error; then nothing of it is left. */
  make(): Promise<void> {
    if (this.made) return Promise.resolve();
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  async #make(): Promise<void> {
    const path = this.#layout.reserve;
    const lack = await this.#lack();
    if (lack?.odd) throw new ReserveInTheWay(path, lack.why);
    if (lack) {
      // An old one of another size first: both need not fit.
      await this.#disk.remove(path);
      await this.#disk.takeRoom(path, this.#bytes);
      await this.#disk.syncFolder(this.#layout.folder);
      this.#writtenMs = (await this.#disk.stat(path))?.modifiedMs;
    }
    this.#made = true;
  }

  /** What is wrong with what lies there; `odd`: it is not ours to remove. */
  async #lack(): Promise<{ readonly why: string; readonly odd?: true } | undefined> {
    const path = this.#layout.reserve;
    const seen = await this.#disk.look(path);
    if (!seen) return { why: 'is gone' };
    const odd = oddity(seen, 'file');
    if (odd !== undefined) return { why: odd, odd: true };
    const stat = await this.#disk.stat(path);
    if (stat?.bytes !== this.#bytes) return { why: `has ${stat?.bytes ?? 0} bytes` };
    if (stat.modifiedMs === this.#writtenMs || stat.allocatedBytes >= this.#bytes) return undefined;
    return { why: `takes only ${stat.allocatedBytes} bytes of the disk` };
  }

  /**
   * Looks again at one that was made: somebody may have removed it, or put something else there. In words if so; then
   * there is none any more. Rejects with the disk's error.
   */
  async lookAgain(): Promise<string | undefined> {
    if (!this.#made) return undefined;
    const lack = await this.#lack();
    // Given up meanwhile.
    if (!lack || !this.#made) return undefined;
    this.#made = false;
    return lack.why;
  }

  /** Never rejects: where it cannot be removed the next write tells why. */
  giveUp(): Promise<void> {
    this.#going ??= this.#giveUp().finally(() => {
      this.#going = undefined;
    });
    return this.#going;
  }

  async #giveUp(): Promise<void> {
    await this.#making?.catch(() => {});
    if (!this.#made) return;
    this.#made = false;
    await removeReserve(this.#disk, this.#layout);
  }

  /** Resolves when there is a reserve and room for new work beside it; rejects with the disk's error. */
  async prove(): Promise<void> {
    if (this.#bytes === 0) return;
    const { folder } = this.#layout;
    const needed = spoolDefaults.roomBytes + (this.#made ? 0 : this.#bytes);
    const free = await this.#disk.freeBytes(folder);
    // Asked first: who tries by writing takes the last room from others, again and again, and wears the disk out.
    if (free !== undefined && free < needed)
      throw Object.assign(new Error(`ENOSPC: ${free} bytes are free`), { code: 'ENOSPC' });
    if (this.#skip-- > 0) throw this.#refused;
    const probe = join(folder, ROOM_PROBE);
    try {
      await this.#disk.takeRoom(probe, spoolDefaults.roomBytes);
      await this.make();
      this.#skips = 0;
    } catch (cause) {
      // A quota, which nobody tells beforehand: tried more and more seldom.
      if (causeCode(cause) === 'EDQUOT') this.#skips = Math.min(2 * this.#skips + 1, SKIPS_MAX);
      this.#refused = cause;
      throw cause;
    } finally {
      this.#skip = this.#skips;
      await this.#disk.remove(probe).catch(() => {});
    }
  }
}

/** Of tries that come every `probeEveryMs`: then one a minute is left. */
const SKIPS_MAX = 11;

/** Something lies in its place that is not ours to remove. */
export class ReserveInTheWay extends Error {
  readonly code = 'EEXIST';
  /** What lies there, in words. */
  readonly what: string;

  constructor(path: string, why: string) {
    super(`EEXIST: ${path} ${why}`);
    this.what = `${path} ${why}`;
  }
}

/** Its room is free when this resolves. Never rejects. */
export async function removeReserve(disk: Disk, layout: Layout): Promise<void> {
  try {
    await disk.remove(layout.reserve);
    // Some file systems give blocks back only with the name's journal.
    await disk.syncFolder(layout.folder);
  } catch {
    // The next write tells why.
  }
}

const ROOM_PROBE = 'room.probe';
