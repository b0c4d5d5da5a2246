import { basename, join } from 'node:path';
import type { Disk, Sight } from '../ports/disk.ts';
import { foldersOf, isSpoolName, type Layout } from './layout.ts';

/** Whether other users could read or change a spool; see `placeOpenToOthers`. */
export function openToOthers(disk: Disk, layout: Layout, how: How): Promise<string | undefined> {
  const { folder, owner, code } = layout;
  const [, ...parts] = foldersOf(layout);
  const folders = [...parts, code];
  const place = { word: 'spool', folder, owner, files: [], folders, isOurs: isSpoolName };
  return placeOpenToOthers(disk, place, how);
}

export interface How {
  readonly close: boolean;
  /** It may be another user's: whoever asks may see everything, changes nothing, and still follows no link. */
  readonly anyOwner?: boolean;
}

/** A folder of records, and what belongs into it. */
export interface Place {
  /** What it is: `spool`, `outbox`. */
  readonly word: string;
  readonly folder: string;
  readonly owner: string;
  /** Further files in it, by their paths. */
  readonly files: readonly string[];
  readonly folders: readonly string[];
  /** Whether a name in it is one that this program makes there. */
  isOurs(name: string): boolean;
}

/**
 * Whether other users could read or change a folder of records that is there: in words if so, then it must not be used.
 * What is ours and merely has a wide mode is closed to them (with `close`), the folder itself only where it holds nothing
 * but records; folders above it are never touched. What is missing is fine.
 */
export async function placeOpenToOthers(
  disk: Disk,
  place: Place,
  { close, anyOwner = false }: How,
): Promise<string | undefined> {
  const { folder, word } = place;
  // The folder may be given by a link, what is in it may not be one.
  const top = await disk.look(folder, { follow: true });
  if (top?.kind !== 'folder') return undefined;
  const named = `The ${word} folder ${folder}`;
  if (!top.ours && !anyOwner)
    return `${named} belongs to another user, who could read and change what is in it.`;
  if (top.others !== 'nothing') {
    const names = await disk.list(folder);
    const owner = await disk.look(place.owner);
    const isSpool = (owner?.kind === 'file' && owner.ours) || names.every(place.isOurs);
    // Before what is in it is looked at: afterwards nobody else can change that.
    if (isSpool && close) await disk.restrict(folder, { follow: true });
    else if (!isSpool && top.others === 'write')
      return `${named} can be written by other users, and holds other things than its records, so its mode is left as it is.`;
  }
  for (const [path, kind] of partsOf(place)) {
    const part = await disk.look(path);
    if (part === undefined) continue;
    const seen = anyOwner ? { ...part, ours: true } : part;
    const why = oddity(seen, kind ?? (part.kind === 'folder' ? 'folder' : 'file'));
    if (why !== undefined)
      return `${path} in the ${word} ${why}: somebody else may have put it there.`;
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

/** A lock may be a file, or a folder of an earlier version. */
function partsOf(place: Place): [path: string, kind: 'file' | 'folder' | undefined][] {
  const kinds = [
    ['file', [place.owner, ...place.files]],
    ['folder', place.folders],
    [undefined, LOCKS.map((name) => join(place.folder, name))],
  ] as const;
  return kinds.flatMap(([kind, paths]) => paths.map((path): [string, typeof kind] => [path, kind]));
}

function isLock(path: string): boolean {
  return LOCKS.includes(basename(path));
}

const LOCKS = ['owner.lock', 'owner.door'];
