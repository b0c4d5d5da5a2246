import { basename, join } from 'node:path';
import type { Disk, Sight } from '../../ports/disk.ts';
import { isSpoolName, type Layout } from './layout.ts';

/**
 * Whether other users could read or change a spool that is there: in words if so, then it must not be used. What is ours
 * and merely has a wide mode is closed to them (with `close`), its own folder only where it holds nothing but a spool;
 * folders above it are never touched. What is missing is fine.
 */
export async function openToOthers(
  disk: Disk,
  layout: Layout,
  { close }: { readonly close: boolean },
): Promise<string | undefined> {
  const { folder } = layout;
  // The folder may be given by a link, what is in it may not be one.
  const top = await disk.look(folder, { follow: true });
  if (top?.kind !== 'folder') return undefined;
  const spool = `The spool folder ${folder}`;
  if (!top.ours)
    return `${spool} belongs to another user, who could read and change what is in it.`;
  if (top.others !== 'nothing') {
    const names = await disk.list(folder);
    const owner = await disk.look(layout.owner);
    const isSpool = (owner?.kind === 'file' && owner.ours) || names.every(isSpoolName);
    // Before what is in it is looked at: afterwards nobody else can change that.
    if (isSpool && close) await disk.restrict(folder, { follow: true });
    else if (!isSpool && top.others === 'write')
      return `${spool} can be written by other users, and holds other things than a spool, so its mode is left as it is.`;
  }
  for (const [path, kind] of partsOf(layout)) {
    const part = await disk.look(path);
    if (part === undefined) continue;
    const why = oddity(part, kind);
    if (why !== undefined)
      return `${path} in the spool ${why}: somebody else may have put it there.`;
    // The locks come and go, and are made anew for each holder.
    if (part.others !== 'nothing' && close && !isLock(path)) await disk.restrict(path);
  }
  return undefined;
}

/** In words: why a thing is not to be opened. */
export function oddity(seen: Sight, kind: 'file' | 'folder'): string | undefined {
  if (seen.kind === 'link') return 'is a symbolic link, which is not followed';
  if (seen.kind !== kind) return kind === 'file' ? 'is no regular file' : 'is no folder';
  return seen.ours ? undefined : 'belongs to another user';
}

function partsOf(layout: Layout): [path: string, kind: 'file' | 'folder'][] {
  const { folder, owner, reports, running, stale, refused, corrupt } = layout;
  return [
    [owner, 'file'],
    ...[reports, running, stale, refused, corrupt].map((path) => [path, 'folder'] as const),
    ...LOCKS.map((name) => [join(folder, name), 'folder'] as const),
  ] as [string, 'file' | 'folder'][];
}

function isLock(path: string): boolean {
  return LOCKS.includes(basename(path));
}

const LOCKS = ['owner.lock', 'owner.door'];
