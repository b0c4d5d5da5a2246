import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Disk } from '../../ports/disk.ts';
import type { FolderLock } from '../../ports/folder-lock.ts';
import type { ProcessInfo } from '../../ports/process-info.ts';
import { layoutOf } from '../../spool/layout.ts';
import { seeOwner } from '../../spool/owner-lock.ts';
import { identityBehind } from './files.ts';

/** A worker that still runs the version from before an update: its process has to be started anew. */
export interface OldWorker {
  /** Absent where its spool was not found: the worker of another user. */
  readonly workerId?: string;
  readonly pid: number;
  readonly spool?: string;
  /** Its program is out of sight (another user's): it may be another executable. */
  readonly sure: boolean;
}

export interface RunningPorts {
  readonly disk: Disk;
  readonly lock: Pick<FolderLock, 'look'> & FolderLock;
  readonly processInfo: ProcessInfo;
}

/**
 * Workers of this machine that run something else than `identity` (the file in place), found by the records in their
 * spools. Of those that run another executable altogether the system tells; they are left out where it does.
 *
 * @param old identities of what was in place before.
 */
export async function oldWorkers(
  ports: RunningPorts,
  spools: readonly string[],
  old: readonly string[],
): Promise<OldWorker[]> {
  const found: OldWorker[] = [];
  for (const spool of spools) {
    const seen = await seeOwner(ports, layoutOf(spool)).catch(() => undefined);
    if (seen?.state !== 'alive' || seen.owner.visit) continue;
    const { pid, workerId } = seen.owner;
    const runs = await identityBehind(`/proc/${pid}/exe`);
    if (runs === undefined || old.includes(runs))
      found.push({ workerId, pid, spool, sure: runs !== undefined });
  }
  return found;
}

/**
 * Processes that run the file of that identity and were not started by one that does: a worker, and not its hosts. This
 * process is none of them. Empty where the system has no /proc.
 */
export async function oldProcesses(identity: string, self: number): Promise<number[]> {
  const names = await readdir('/proc').catch(() => []);
  const parents = new Map<number, number>();
  for (const name of names) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === self) continue;
    if ((await identityBehind(`/proc/${pid}/exe`)) !== identity) continue;
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    // The fourth field; the second is a name that may hold blanks and brackets.
    parents.set(pid, Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
  }
  return [...parents].filter(([, parent]) => !parents.has(parent)).map(([pid]) => pid);
}

/** Spools of the state folder, one for each worker id, and the one that a setting names. */
export async function knownSpools(
  stateFolder: string | undefined,
  named: string | undefined,
): Promise<string[]> {
  const all = stateFolder === undefined ? undefined : join(stateFolder, 'spool');
  const names = all === undefined ? [] : await readdir(all).catch(() => []);
  const folders =
    all === undefined ? [] : names.slice(0, SPOOLS_MAX).map((name) => join(all, name));
  return [...new Set(named === undefined ? folders : [...folders, named])];
}

const SPOOLS_MAX = 1_000;
