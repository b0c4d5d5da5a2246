import { spoolDefaults } from '../core/defaults.ts';
import type { Disk } from '../ports/disk.ts';

/**
 * The content of a group file. One that is far larger than a group is only read where both of its ends look like ours: a
 * single large report does, and something that was put there does not. Rejects with the disk's error, or with `EFBIG`.
 */
export async function readGroupFile(disk: Disk, path: string): Promise<Uint8Array> {
  const { groupFileBytes, groupFileMaxBytes } = spoolDefaults;
  const begin = await disk.readPart(path, 0, groupFileBytes + 1);
  if (begin.length <= groupFileBytes) return begin;
  const size = (await disk.stat(path))?.bytes ?? 0;
  const end = await disk.readPart(path, Math.max(0, size - 3), 3);
  const ours = text(begin.subarray(0, BEGIN.length)) === BEGIN && text(end) === END;
  if (!ours || size > groupFileMaxBytes)
    throw Object.assign(new Error(`EFBIG: ${path} has ${size} bytes`), { code: 'EFBIG', path });
  return disk.readFile(path);
}

const BEGIN = '{"v":';
const END = '"}\n';

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

/** Some at a time, in the order of the items. Rejects with the first error once all under way are over. */
export async function someAtATime<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const made: R[] = [];
  for (let from = 0; from < items.length; from += spoolDefaults.readsAtOnce) {
    const some = await Promise.allSettled(
      items.slice(from, from + spoolDefaults.readsAtOnce).map(work),
    );
    for (const one of some) {
      if (one.status === 'rejected') throw one.reason;
      made.push(one.value);
    }
  }
  return made;
}
