import { join } from 'node:path';
import { spoolDefaults } from '../../core/defaults.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Disk } from '../../ports/disk.ts';
import type { Log } from '../../ports/log.ts';
import { DurableFolder } from './durable-folder.ts';
import type { BadLine } from './read-group.ts';
import { encodeLine } from './records.ts';

/**
 * One of the folders `stale`, `refused`, `corrupt`: a file for each thing set aside, durable before `put` resolves,
 * kept for a stated time.
 */
export class AsideFolder {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #durable: DurableFolder;
  readonly #names: Set<string>;

  constructor(disk: Disk, folder: string, names: readonly string[]) {
    this.#disk = disk;
    this.#folder = folder;
    this.#durable = new DurableFolder(disk, folder);
    this.#names = new Set(names);
  }

  get count(): number {
    return this.#names.size;
  }

  async put(name: string, record: { readonly kind: string }): Promise<void> {
    await this.#durable.write(name, encodeLine(record).text);
    this.#names.add(name);
  }

  /** Removes what is older than its time, and the oldest of too many. Never rejects. */
  async tidy(clock: Clock, log: Log): Promise<void> {
    const found: { name: string; ageMs: number }[] = [];
    for (const name of this.#names) {
      const stat = await this.#disk.stat(join(this.#folder, name)).catch(() => undefined);
      if (stat) found.push({ name, ageMs: clock.wall() - stat.modifiedMs });
    }
    found.sort((a, b) => a.ageMs - b.ageMs);
    const old = found.filter(
      ({ ageMs }, i) => ageMs > spoolDefaults.setAsideKeptMs || i >= spoolDefaults.setAsideKept,
    );
    for (const { name } of old) {
      try {
        await this.#disk.remove(join(this.#folder, name));
        this.#names.delete(name);
      } catch {
        // It stays until the next start.
      }
    }
    if (old.length > 0)
      log.info(
        'spool.aside-expired',
        `${old.length} old set-asides were removed from ${this.#folder}.`,
        {
          removed: old.length,
        },
      );
  }
}

/** A bad line as it is kept: as text where it is text, else in base 64. */
export function corruptRecord(from: string, bad: BadLine, foundAt: string) {
  const text = Buffer.from(bad.content).toString();
  const isText = Buffer.from(text).equals(bad.content);
  return {
    kind: 'corrupt',
    foundAt,
    from,
    line: bad.line,
    why: bad.why,
    ...(isText ? { text } : { base64: Buffer.from(bad.content).toString('base64') }),
  };
}
