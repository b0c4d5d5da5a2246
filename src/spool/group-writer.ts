import { spoolDefaults } from '../core/defaults.ts';
import type { DurableFolder } from './durable-folder.ts';
import { causeCode } from './errors.ts';
import type { Line } from './records.ts';

/**
 * Makes lines durable in group files of their own. Woken by a line; a free writer takes whatever waits at that moment as one
 * group: written beside, fsynced, renamed, folder fsynced, and only then are its lines told to be durable. So
 * a lone record waits for nobody, and under load one group carries many. Ends when nothing waits.
 */
export class GroupWriter {
  readonly #folder: DurableFolder;
  readonly #nextName: () => string;
  readonly #placed: (name: string, ids: readonly string[], offsets: readonly number[]) => void;
  #waiting: Waiting[] = [];
  #writers = 0;
  #idle: (() => void)[] = [];

  /** @param placed told of a durable group, and where each line begins in it, before any of its writers is. */
  constructor(
    folder: DurableFolder,
    nextName: () => string,
    placed: (name: string, ids: readonly string[], offsets: readonly number[]) => void,
  ) {
    this.#folder = folder;
    this.#nextName = nextName;
    this.#placed = placed;
  }

  /** Resolves with the name of its file when the line is durable. Rejects with the disk's error. */
  write(id: string, line: Line): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ id, line, resolve, reject });
      if (this.#writers < spoolDefaults.writers) void this.#run();
    });
  }

  /** Resolves when nothing waits and nothing is being written. */
  async idle(): Promise<void> {
    if (this.#writers > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async #run(): Promise<void> {
    this.#writers++;
    // Whoever was woken together with the first one comes along.
    await undefined;
    while (this.#waiting.length > 0) {
      const count = groupSize(this.#waiting.map(({ line }) => line.bytes));
      await this.#writeGroup(this.#waiting.splice(0, count));
    }
    this.#writers--;
    if (this.#writers === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    const name = this.#nextName();
    try {
      await this.#folder.write(name, group.map(({ line }) => line.text).join(''));
    } catch (error) {
      if (group.length > 1 && NO_ROOM.has(causeCode(error) ?? '')) {
        // One large record must not keep the small ones from the room that is left.
        const half = group.length >> 1;
        await this.#writeGroup(group.slice(0, half));
        await this.#writeGroup(group.slice(half));
        return;
      }
      for (const { reject } of group) reject(error);
      return;
    }
    let end = 0;
    const offsets = group.map(({ line }) => {
      end += line.bytes;
      return end - line.bytes;
    });
    this.#placed(
      name,
      group.map(({ id }) => id),
      offsets,
    );
    for (const { resolve } of group) resolve(name);
  }
}

interface Waiting {
  readonly id: string;
  readonly line: Line;
  readonly resolve: (name: string) => void;
  readonly reject: (error: unknown) => void;
}

/** Codes that say that a smaller file might still fit. */
export const NO_ROOM: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** How many of these lines make the next group: all that wait, within the bounds, and at least one. */
export function groupSize(bytes: readonly number[]): number {
  let sum = 0;
  for (const [count, more] of bytes.entries()) {
    sum += more;
    if (count > 0 && (sum > spoolDefaults.groupBytes || count >= spoolDefaults.groupRecords))
      return count;
  }
  return bytes.length;
}
