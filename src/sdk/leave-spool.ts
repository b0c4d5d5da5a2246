/** What the user's thread does with the spool of an agent that died: without a word of it the spool would stay ours. */
import type { Clock } from '../ports/clock.ts';
import type { Disk } from '../ports/disk.ts';
import type { FolderLock } from '../ports/folder-lock.ts';
import { layoutOf } from '../spool/layout.ts';
import { closedOwner } from '../spool/owner.ts';
import { behindDoor, readOwner, writeOwner } from '../spool/owner-lock.ts';
import { readSpool } from '../spool/read-spool.ts';
import { settle } from '../spool/settle.ts';

/**
 * Gives it back, so that the next worker takes it at once, also one of this process. Only once none of the agent's
 * handlers runs any more: a next worker tells their tasks as lost. A spool that belongs to another session is left alone.
 */
export async function leaveSpool(
  ports: { readonly disk: Disk; readonly clock: Clock; readonly lock: FolderLock },
  folder: string,
  sessionId: string,
): Promise<void> {
  const layout = layoutOf(folder);
  // It may have died before it had one.
  if (!(await ports.disk.stat(folder))) return;
  await behindDoor(ports.lock, folder, async (stillOurs) => {
    const owner = await readOwner(ports.disk, layout);
    if (owner?.sessionId !== sessionId || owner.closedAt !== undefined) return true;
    if (!(await stillOurs())) return undefined;
    await writeOwner(ports.disk, layout, closedOwner(owner, ports.clock.wall()));
    const lies = await ports.lock.look(folder);
    // The record gives it to whoever comes: one that another has by now stays.
    if (lies && (await stillOurs())) await ports.lock.breakOpen(folder, lies.stamp);
    return true;
  });
}

/** Reports that lie there for the next start; 0 where it cannot be read. */
export async function reportsLeft(disk: Disk, folder: string): Promise<number> {
  try {
    return settle(await readSpool(disk, layoutOf(folder))).reports.length;
  } catch {
    return 0;
  }
}
