import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { entryStates, readEntries } from '../../spool/index.ts';
import { systemDisk } from '../../system/disk.ts';
import { systemFolderLock } from '../../system/folder-lock.ts';
import { systemProcessInfo } from '../../system/process-info.ts';
import { isSpool } from '../spool-folder.ts';

/** What lies in the spool of a service. */
export type Owed =
  | { readonly kind: 'counted'; readonly states: Readonly<Partial<Record<State, number>>> }
  /** No worker has used it, or it is gone. */
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown'; readonly why: string };
type State = (typeof entryStates)[number];

export async function owedIn(spool: string, root: string): Promise<Owed> {
  const folder = join(root, spool);
  if (!isSpool(folder)) {
    const why = hidden(folder);
    return why === undefined ? { kind: 'none' } : { kind: 'unknown', why };
  }
  const read = await readEntries({
    disk: systemDisk(),
    lock: systemFolderLock(),
    processInfo: await systemProcessInfo(),
    folder,
    // A service has a user of its own, and root asks.
    ofAnother: process.getuid?.() === 0,
  });
  if (!read.ok) return { kind: 'unknown', why: read.error.message };
  const states: Partial<Record<State, number>> = {};
  for (const { state } of read.entries) states[state] = (states[state] ?? 0) + 1;
  return { kind: 'counted', states };
}

/** That of a service of the machine is closed to all but root. */
function hidden(folder: string): string | undefined {
  try {
    readdirSync(folder);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    return `${folder} may not be looked at (${code}); root may.`;
  }
}

/** What would be lost with it: all but what came too late, and was decided without it. */
export function undelivered(owed: Owed): number {
  if (owed.kind !== 'counted') return 0;
  return entryStates
    .filter((state) => state !== 'stale')
    .reduce((sum, state) => sum + (owed.states[state] ?? 0), 0);
}

export function owedWords(owed: Owed): string {
  if (owed.kind === 'unknown') return `its spool cannot be read: ${owed.why}`;
  if (owed.kind === 'none') return 'it has no spool yet';
  const parts = entryStates.flatMap((state) => {
    const count = owed.states[state] ?? 0;
    return count === 0 ? [] : [`${count} ${WORDS[state]}`];
  });
  return parts.length === 0 ? 'nothing is owed' : parts.join(', ');
}

const WORDS: Readonly<Record<State, string>> = {
  owed: 'owed',
  running: 'running',
  stale: 'stale',
  refused: 'refused',
  corrupt: 'damaged',
  newer: 'of a newer version',
  unreadable: 'that cannot be read',
};
