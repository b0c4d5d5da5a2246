import { join } from 'node:path';
import type { TaskError } from '../contract/index.ts';
import type { Disk } from '../ports/disk.ts';
import { causeCode } from './errors.ts';
import { layoutOf } from './layout.ts';
import { type LockPorts, seeOwner, visitedError } from './owner-lock.ts';
import type { SpoolEntry } from './set-aside-read.ts';

/** Whether it lies in a folder of its own, where nothing depends on it. */
export function isAside({ state, line }: SpoolEntry): boolean {
  return (state === 'stale' || state === 'refused' || state === 'corrupt') && line === undefined;
}

export interface Discarded {
  /** Not removed, with the reason; `gone`: it was not there any more, put back or removed by somebody else. */
  readonly left: readonly {
    readonly entry: SpoolEntry;
    readonly why: string;
    readonly gone?: true;
  }[];
  /** `SPOOL_LOCKED`: reports are being put back; what was not reached is among `left`. */
  readonly error?: TaskError;
}

/**
 * Removes set-asides for good, durable when it resolves. A worker may have the spool: nothing that it has still to do
 * depends on them. A command that puts them back may not: behind the lock's door neither comes between the other.
 */
export async function discardAsides(
  ports: Pick<LockPorts, 'disk' | 'lock' | 'processInfo'>,
  folder: string,
  entries: readonly SpoolEntry[],
): Promise<Discarded> {
  const { disk, lock } = ports;
  const left: Discarded['left'][number][] = [];
  const layout = layoutOf(folder);
  for (const entry of entries)
    if (!isAside(entry)) throw new Error(`${entry.file} was not set aside`);
  let error: TaskError | undefined;
  for (let from = 0; from < entries.length; from += BEHIND_DOOR) {
    const some = entries.slice(from, from + BEHIND_DOOR);
    try {
      error ??= await lock.door(folder, async () => {
        const held = await seeOwner(ports, layout);
        if (held?.owner.visit) return visitedError(folder, held.owner, held.owner.visit.by);
        for (const entry of some) left.push(...(await removed(disk, folder, entry)));
        return undefined;
      });
    } catch (cause) {
      // The door itself: a folder that takes no file gives none either.
      const why = reasonOf(cause);
      const known = new Set(left.map((one) => one.entry));
      left.push(...some.filter((entry) => !known.has(entry)).map((entry) => ({ entry, why })));
      continue;
    }
    if (error) left.push(...some.map((entry) => ({ entry, why: 'reports are being put back' })));
  }
  for (const state of ['stale', 'refused', 'corrupt'] as const)
    if (entries.some((entry) => entry.state === state))
      // A power cut may bring some of them back; they can be discarded again.
      await disk.syncFolder(layout[state]).catch(() => {});
  return { left, ...(error && { error }) };
}

async function removed(
  disk: Disk,
  folder: string,
  entry: SpoolEntry,
): Promise<Discarded['left'][number][]> {
  const path = join(folder, entry.file);
  try {
    if (!(await disk.look(path))) return [{ entry, why: 'it is gone', gone: true }];
    await disk.remove(path);
    return [];
  } catch (cause) {
    return [{ entry, why: reasonOf(cause) }];
  }
}

function reasonOf(cause: unknown): string {
  const why = causeCode(cause);
  if (why === undefined) throw cause;
  return why;
}

/** At a time: who waits at the door (a worker that starts) waits for milliseconds. */
const BEHIND_DOOR = 64;
