import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** A folder that root may work in as its owner. */
export interface Way {
  /** Without links. */
  readonly folder: string;
  readonly uid: number;
  readonly gid: number;
  /** Nobody but root can change the way to it. */
  readonly roots: boolean;
}

/**
 * The way to a folder, or in words why root must not take it. Links are followed where only root can have made them. Below
 * the first folder that belongs to another user all has to be that user's, the end too: whatever he makes of it
 * meanwhile, who works there with his rights can harm only him.
 */
export function safeWay(path: string): Way | string {
  let at = '/';
  let above = lstatSync(at);
  /** Whose all has to be from here on. */
  let owner: number | undefined;
  let roots = true;
  let links = 0;
  const left = partsOf(path);
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    const next = join(at, name);
    const seen = lstatSync(next, { throwIfNoEntry: false });
    if (seen === undefined) return `${next} is not there`;
    const shared = (above.mode & 0o022) !== 0;
    const sticky = (above.mode & 0o1000) !== 0;
    if (owner === undefined && above.uid !== 0) owner = above.uid;
    if (owner === undefined && shared && !sticky)
      return `${at} can be written by others, who could make anything of ${next}`;
    // In a folder such as /tmp an entry is its owner's to rename.
    if (owner === undefined && shared && seen.uid !== 0) owner = seen.uid;
    roots = owner === undefined;
    if (!roots && seen.isSymbolicLink()) return `${next} is a link that root has not made`;
    if (!roots && seen.uid !== owner)
      return `${next} belongs to another user than ${dirname(next)}`;
    if (seen.isSymbolicLink()) {
      if (++links > LINKS) return `${path} leads in a circle`;
      left.unshift(...partsOf(resolve(at, readlinkSync(next))));
      at = '/';
      above = lstatSync(at);
    } else {
      at = next;
      above = seen;
    }
  }
  if (!above.isDirectory()) return `${at} is no folder`;
  return { folder: at, uid: above.uid, gid: above.gid, roots };
}

function partsOf(path: string): string[] {
  return path.split('/').filter(Boolean);
}

/** As Linux follows. */
const LINKS = 40;
