import { existsSync } from 'node:fs';
import { lstat, readdir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { DiscoveredHandler } from '../handler/discovery.ts';
import { keptFile } from '../handler/snapshot.ts';
import { isSessionName } from '../spool/layout.ts';
import { systemDisk } from '../system/disk.ts';
import type { ServedHandler } from '../worker/worker.ts';

/**
 * Where a worker keeps the code of its handlers, for its hosts: a folder of the session below the spool, so that it lies
 * where the worker may write for certain, and whoever has the spool may remove what others left.
 */
export interface CodeFolder {
  readonly folder: string;
  /** Makes the spool's folder where it is missing, as the spool does: a probe makes only what lies in it. */
  makeRoom(): Promise<void>;
  /** What the worker is given for a handler that was found; the same for the same one. */
  served(handler: DiscoveredHandler): ServedHandler;
  /** Removes what sessions of before have left, and nothing else that lies there. Only for who has the spool. */
  sweepOthers(): Promise<void>;
  /** Removes the code that nobody needs any more. */
  sweep(used: ReadonlySet<string>): Promise<void>;
  remove(): Promise<void>;
}

export function codeFolder(spoolFolder: string, sessionId: string): CodeFolder {
  const all = join(spoolFolder, 'code');
  const folder = join(all, sessionId);
  const known = new WeakMap<DiscoveredHandler, ServedHandler>();
  let unknown = 0;
  const made = ({ code, safetyDeclared: _, ...handler }: DiscoveredHandler): ServedHandler => {
    // Where code cannot be told, no host of before is one of now.
    if (code === undefined) return { ...handler, code: { id: `unknown-${++unknown}` } };
    const { hash, id, notKept } = code;
    return {
      ...handler,
      // What hosts read from the disk may be other code by then: nobody can say its hash.
      code: { id, ...(notKept === undefined && { hash, kept: keptFile(folder, id) }) },
    };
  };
  return {
    folder,
    makeRoom: async () => {
      // Why it cannot be made is told when the spool is opened.
      if (!existsSync(spoolFolder))
        await systemDisk()
          .makeFolder(spoolFolder)
          .catch(() => {});
    },
    served: (handler) => {
      const served = known.get(handler) ?? made(handler);
      known.set(handler, served);
      return served;
    },
    sweepOthers: () => removeSessions(all, (name) => isSessionName(name) && name !== sessionId),
    sweep: (used) => removeKept(all, sessionId, (name) => !used.has(idOf(name))),
    remove: () => removeSessions(all, (name) => name === sessionId),
  };
}

/** As a probe writes it, whole or unfinished: see `keepCode`. */
const KEPT = /^([0-9a-f]{64})\.json(\.\d+)?$/;

/** An unfinished one is nobody's. */
function idOf(name: string): string {
  return name.replace(/\.json$/, '');
}

async function removeSessions(all: string, isLeft: (name: string) => boolean): Promise<void> {
  for (const name of (await namesIn(all)).filter(isLeft)) {
    await removeKept(all, name, () => true);
    // Whoever put something else there finds it again.
    await rmdir(join(all, name)).catch(() => {});
  }
}

/**
 * By the names that we give and file by file, never with all that is in a folder: it may be somebody's project, or become
 * a link to one after the look. What cannot be removed is in nobody's way: the next start tries again.
 */
async function removeKept(
  all: string,
  session: string,
  isLeft: (name: string) => boolean,
): Promise<void> {
  if ((await namesIn(all)).length === 0) return;
  const folder = join(all, session);
  for (const name of await namesIn(folder))
    if (KEPT.test(name) && isLeft(name)) await unlink(join(folder, name)).catch(() => {});
}

/** None in what is no folder itself: a link leads to somebody else's. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await lstat(folder)).isDirectory() ? await readdir(folder) : [];
  } catch {
    return [];
  }
}
