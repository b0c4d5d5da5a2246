import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText } from './failure.ts';

export interface Scan {
  /** Files below the folder: paths with `/`, sorted. */
  readonly files: readonly string[];
  /** What could not be read. */
  readonly troubles: readonly { readonly path: string; readonly message: string }[];
}

/** A handlers folder is small; beyond this it is the wrong folder. */
const FILES_MAX = 20_000;
const DEPTH_MAX = 16;

/**
 * Lists a handlers folder with its subfolders. Links are followed (a mounted configuration consists of them),
 * each folder once. Names that begin with a dot and `node_modules` are passed over.
 */
export async function scanFolder(folder: string): Promise<Scan> {
  const files: string[] = [];
  const troubles: { path: string; message: string }[] = [];
  const visited = new Set<string>();

  async function walk(below: string, depth: number): Promise<void> {
    const here = join(folder, below);
    let entries: Dirent[];
    try {
      const real = await realpath(here);
      if (visited.has(real)) return;
      visited.add(real);
      entries = await readdir(here, { withFileTypes: true });
    } catch (error) {
      troubles.push({ path: below, message: unreadable(error) });
      return;
    }
    for (const entry of entries) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      const kind = await kindOf(entry, join(here, entry.name));
      if (kind === 'lost') {
        troubles.push({ path, message: 'is a link to something that is not there' });
      } else if (kind === 'folder') {
        if (depth < DEPTH_MAX) await walk(path, depth + 1);
        else troubles.push({ path, message: `is deeper than ${DEPTH_MAX} folders` });
      } else if (kind === 'file') {
        if (files.length < FILES_MAX) files.push(path);
        else if (files.length === FILES_MAX) {
          troubles.push({ path: below, message: `has more than ${FILES_MAX} files below it` });
          return;
        }
      }
    }
  }

  await walk('', 0);
  return { files: files.sort(), troubles };
}

/** What a path that cannot be listed is, in words; others may be told by the system's own. */
function unreadable(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  const words = code === undefined ? undefined : WORDS[code];
  return words === undefined ? `cannot be read: ${errorText(error)}` : `${words} (${code})`;
}

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is a file and no folder',
  EACCES: 'may not be read by this user',
  EPERM: 'may not be read by this user',
  ELOOP: 'is a link that leads back to itself',
};

async function kindOf(entry: Dirent, path: string): Promise<'file' | 'folder' | 'lost' | 'other'> {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'folder';
  if (!entry.isSymbolicLink()) return 'other';
  try {
    const target = await stat(path);
    return target.isFile() ? 'file' : target.isDirectory() ? 'folder' : 'other';
  } catch {
    return 'lost';
  }
}

/** Whether `path` and `other`, which differ in case only, are one file for the file system. */
export async function sameFile(path: string, other: string): Promise<boolean> {
  try {
    const [a, b] = await Promise.all([stat(path, { bigint: true }), stat(other, { bigint: true })]);
    return a.ino === b.ino && a.dev === b.dev;
  } catch {
    return false; // The other spelling finds nothing: case is kept apart.
  }
}
