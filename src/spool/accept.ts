import { basename, join } from 'node:path';
import type { TaskError } from '../contract/index.ts';
import type { Disk, Sight } from '../ports/disk.ts';
import { causeCode, type SpoolErrorCode, spoolError } from './errors.ts';
import {
  foldersOf,
  isOwnerHead,
  isProbe,
  isRecordName,
  isSessionName,
  type Layout,
  OWNER_HEAD_BYTES,
} from './layout.ts';
import { openToOthers } from './private.ts';

/**
 * Why a folder cannot be a worker's spool; `undefined`: it can, and is closed to other users. Nothing is made in it, and nothing
 * may be before this was asked. Errors: `SPOOL_UNSAFE`, `SPOOL_UNWRITABLE`. Throws what is not the system's.
 */
export async function refusedFolder(disk: Disk, layout: Layout): Promise<TaskError | undefined> {
  const { folder } = layout;
  try {
    const top = await disk.look(folder, { follow: true });
    if (top && top.kind !== 'folder') {
      const what = top.kind === 'file' ? 'a file and no folder' : 'no folder';
      return spoolError('SPOOL_UNWRITABLE', `The spool ${folder} is ${what}.`);
    }
    const unsafe =
      (top && (await otherThingsIn(disk, layout, top))) ??
      (await openToOthers(disk, layout, { close: true }));
    return unsafe === undefined ? undefined : spoolError('SPOOL_UNSAFE', unsafe);
  } catch (cause) {
    return unusable('SPOOL_UNWRITABLE', 'made or written', folder, cause);
  }
}

/** Throws the cause where it is not the system's word: a bug, which must not pass for a disk's trouble. */
export function unusable(
  code: SpoolErrorCode,
  what: string,
  folder: string,
  cause: unknown,
): TaskError {
  const reason = causeCode(cause);
  if (reason === undefined) throw cause;
  return spoolError(code, `The spool ${folder} cannot be ${what} (${reason}).`, { cause });
}

/** In words, where a folder that no worker has used holds other things: somebody's home, a project. */
async function otherThingsIn(disk: Disk, layout: Layout, top: Sight): Promise<string | undefined> {
  const { folder } = layout;
  // What is to be said of another user's is said by `openToOthers`.
  if (!top.ours) return undefined;
  const others = await foreignIn(disk, layout);
  if (others.length === 0) return undefined;
  const told = others.slice(0, THINGS_TOLD).join(', ');
  const more = others.length > THINGS_TOLD ? ` and ${others.length - THINGS_TOLD} more` : '';
  return top.others === 'write'
    ? `The spool folder ${folder} can be written by other users, and holds other things than its records (${told}${more}), so its mode is left as it is.`
    : `The folder ${folder} holds other things (${told}${more}), and no worker has kept its spool there.`;
}

const THINGS_TOLD = 3;

/**
 * Names, sorted, of what lies in a folder that was no spool and is not what a start that was killed leaves there: none in a
 * spool, whatever lies beside it. By what they are and not by their names alone: `code`, `reports` or `reserve` may be anybody's.
 */
export async function foreignIn(disk: Disk, layout: Layout): Promise<string[]> {
  const names = await disk.list(layout.folder);
  const [, ...parts] = foldersOf(layout);
  // One that lost its owner record, or has a damaged one, is known by its folders.
  if (parts.every((part) => names.includes(basename(part)))) return [];
  if (await hasOwner(disk, layout)) return [];
  const foreign: string[] = [];
  for (const name of names)
    if (!HARMLESS.has(name) && !(await isLeftByStart(disk, layout, name))) foreign.push(name);
  return foreign.sort();
}

/** Of a checkout, and of a disk of its own. */
const HARMLESS = new Set(['README.md', '.gitignore', '.gitkeep', '.keep', 'lost+found']);

async function hasOwner(disk: Disk, { owner }: Layout): Promise<boolean> {
  const seen = await disk.look(owner);
  if (!seen) return false;
  // `openToOthers` refuses it, and says why.
  if (seen.kind === 'link' || !seen.ours) return true;
  return seen.kind === 'file' && isOwnerHead(await disk.readPart(owner, 0, OWNER_HEAD_BYTES));
}

/** What is there before an owner is written: folders of records, a lock, the code of handlers; and a doctor's probe. */
async function isLeftByStart(disk: Disk, layout: Layout, name: string): Promise<boolean> {
  const path = join(layout.folder, name);
  const seen = await disk.look(path);
  const [, ...parts] = foldersOf(layout);
  // Gone meanwhile, or refused for what it is by `openToOthers`.
  if (!seen || (seen.kind === 'link' && [...parts, layout.code].includes(path))) return true;
  if (seen.kind === 'file') {
    if (isProbe(name)) return true;
    return LOCKS.includes(name) && (await disk.stat(path))?.bytes === 0;
  }
  if (seen.kind !== 'folder') return false;
  if (LOCKS.includes(name)) return (await disk.list(path)).length === 0;
  if (path === layout.code) return (await disk.list(path)).every(isSessionName);
  return parts.includes(path) && (await disk.list(path)).every(isRecordName);
}

/** Empty files; earlier versions made empty folders. */
const LOCKS = ['owner.lock', 'owner.door'];
