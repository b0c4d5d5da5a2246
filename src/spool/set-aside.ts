import { join } from 'node:path';
import { spoolDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';
import type { Disk } from '../ports/disk.ts';
import type { Log } from '../ports/log.ts';
import { goneInWords, type KeptAside, pastBounds, type WhyGone } from './aside-bounds.ts';
import { taskOfAside } from './aside-task.ts';
import { DurableFolder } from './durable-folder.ts';
import type { BadLine } from './read-group.ts';
import { encodeLine } from './records.ts';

/**
 * One of the folders `stale`, `refused`, `corrupt`: a file for each thing set aside, durable before `put` resolves. Kept
 * for a stated time, and up to a stated number and size; what goes is told.
 */
export class AsideFolder {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #durable: DurableFolder;
  /** Names → bytes (0 until it was looked at), the newest last. */
  readonly #bytes = new Map<string, number>();

  constructor(disk: Disk, folder: string, names: readonly string[]) {
    this.#disk = disk;
    this.#folder = folder;
    this.#durable = new DurableFolder(disk, folder);
    for (const name of names) this.#bytes.set(name, 0);
  }

  get count(): number {
    return this.#bytes.size;
  }

  /** There is more than may stay. */
  get over(): boolean {
    const newestFirst = [...this.#bytes].reverse();
    const found = newestFirst.map(([name, bytes]) => ({ name, bytes, ageMs: 0 }));
    return !pastBounds(found, false).next().done;
  }

  async put(name: string, record: { readonly kind: string }): Promise<void> {
    const line = encodeLine(record);
    await this.#durable.write(name, line.text);
    // The newest of them now.
    this.#bytes.delete(name);
    this.#bytes.set(name, line.bytes);
  }

  /**
   * Removes what is older than its time (where ages count), and the oldest of too many or too much (see `pastBounds`).
   * Never rejects.
   */
  async tidy(clock: Clock, log: Log, agesCount: boolean): Promise<void> {
    const found: KeptAside[] = [];
    for (const name of [...this.#bytes.keys()]) {
      const file = join(this.#folder, name);
      const stat = await this.#disk.stat(file).catch(() => 'unknown' as const);
      if (stat === 'unknown') continue;
      // Retried or discarded by a person.
      if (stat === undefined) this.#bytes.delete(name);
      else found.push({ name, bytes: stat.bytes, ageMs: clock.wall() - stat.modifiedMs });
    }
    found.sort(byAge);
    this.#order(found);
    const gone = new Map<WhyGone, Gone>();
    for (const { name, why } of pastBounds(found, agesCount)) {
      const { tasks, removed } = gone.get(why) ?? { tasks: [], removed: 0 };
      const named = tasks.length < TOLD;
      const task = named ? await taskOfAside(this.#disk, this.#folder, name) : '';
      try {
        await this.#disk.remove(join(this.#folder, name));
      } catch {
        // It stays until the next time.
        continue;
      }
      this.#bytes.delete(name);
      gone.set(why, { tasks: named ? [...tasks, task] : tasks, removed: removed + 1 });
    }
    for (const [why, { tasks, removed }] of gone) {
      const more = removed > tasks.length ? ` and ${removed - tasks.length} more` : '';
      log.warn(
        'spool.aside-expired',
        `${removed === 1 ? 'A set-aside was' : `${removed} set-asides were`} removed from ${this.#folder}, the oldest first: ${goneInWords(why)}. Of: ${tasks.join(', ')}${more}.`,
        { why, removed, tasks },
      );
    }
  }

  /** The newest last, with what came meanwhile after them. */
  #order(newestFirst: readonly KeptAside[]): void {
    const unseen = new Map(this.#bytes);
    for (const { name } of newestFirst) unseen.delete(name);
    this.#bytes.clear();
    for (const { name, bytes } of newestFirst.toReversed()) this.#bytes.set(name, bytes);
    for (const [name, bytes] of unseen) this.#bytes.set(name, bytes);
  }
}

interface Gone {
  readonly tasks: readonly string[];
  readonly removed: number;
}

/** The newest first. What lies ahead was set aside by a clock that was set back since: before all the others. */
function byAge(a: { readonly ageMs: number }, b: { readonly ageMs: number }): number {
  const [aheadA, aheadB] = [a, b].map(({ ageMs }) => (ageMs < -spoolDefaults.clockStepMs ? 1 : 0));
  return (aheadA ?? 0) - (aheadB ?? 0) || a.ageMs - b.ageMs;
}

/** Enough to see what it was about. */
const TOLD = 10;

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
