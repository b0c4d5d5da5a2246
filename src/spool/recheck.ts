import type { Disk } from '../ports/disk.ts';
import { isNoRoom } from './errors.ts';
import { foldersOf, type Layout } from './layout.ts';
import type { Owner } from './owner.ts';
import { type LockPorts, rewriteOwner } from './owner-lock.ts';
import type { Reserve } from './reserve.ts';

/**
 * Whether a spool that was in trouble can take new work again: its folders are there, there is a reserve and some room
 * beside it, and it is still ours. Rejects with what is still in the way.
 */
export async function recheck(
  ports: LockPorts,
  layout: Layout,
  owner: Owner,
  reserve: Reserve,
): Promise<void> {
  for (const folder of foldersOf(layout)) await ports.disk.makeFolder(folder);
  await reserve.prove();
  await rewriteOwner(ports, layout, owner);
  // A report may have met the full disk meanwhile.
  if (!reserve.made) throw Object.assign(new Error('ENOSPC: the reserve'), { code: 'ENOSPC' });
}

/** At a start. A folder that finds no room on a full disk is made later; without the spool's own there is no spool. */
export async function makeFolders(disk: Disk, layout: Layout): Promise<void> {
  for (const folder of foldersOf(layout)) {
    try {
      await disk.makeFolder(folder);
    } catch (cause) {
      if (!isNoRoom(cause) || (await disk.stat(layout.folder)) === undefined) throw cause;
    }
  }
}
