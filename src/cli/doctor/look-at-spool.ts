import { accessSync, constants } from 'node:fs';
import { findHosts } from '../../carriers/orphans.ts';
import { inspectSpool, probeName, readEntries } from '../../spool/index.ts';
import { systemDisk } from '../../system/disk.ts';
import { systemFolderLock } from '../../system/folder-lock.ts';
import { systemProcessInfo } from '../../system/process-info.ts';
import { storageOf, timeSyncs } from '../../system/storage.ts';
import type { Io } from '../command.ts';
import { isSpool } from '../spool-folder.ts';
import { stepsFor } from '../views/spool-words.ts';
import { type Check, fail } from './check.ts';
import { checkSpool } from './spool-checks.ts';
import { readStale } from './stale-reports.ts';

/**
 * Looks at a spool of this machine, also beside its worker: what is in it, what it lies on, what is left of its sessions.
 * @param isLate asks the control plane whether the late report of a task can still be taken; `undefined`: not known.
 */
export async function lookAtSpool(
  folder: string,
  { clock, random }: Io,
  isLate: (taskId: string) => Promise<boolean | undefined> = async () => undefined,
): Promise<Check[]> {
  // A folder of something else is not written to, as the probes below would.
  if (opens(folder) && !isSpool(folder))
    return [
      fail(
        'spool',
        `${folder} is no spool: no worker has used it`,
        'Give the folder that the worker uses (--spool); a worker makes it at its first start.',
      ),
    ];
  const ports = {
    disk: systemDisk(),
    lock: systemFolderLock(),
    processInfo: await systemProcessInfo(),
    folder,
  };
  const found = await inspectSpool({ ...ports, clock, random });
  if (!found.exists) return checkSpool(found);
  const stale = found.setAside.stale > 0 ? await readStale(folder, isLate) : [];
  const read = found.setAside.refused > 0 ? await readEntries(ports) : undefined;
  const entries = read?.ok ? read.entries : [];
  const refused = entries.filter(({ state }) => state === 'refused');
  return checkSpool(found, {
    storage: await storageOf(folder),
    syncs: found.writable.ok ? syncsOf(folder, probeName(random)) : undefined,
    stale,
    refusedSteps: stepsFor(refused, undefined, folder, entries),
    hosts: await findHosts(found.oldSessions),
  });
}

/** Whether what lies in it can be seen; if not, that is told as such. */
function opens(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** `undefined` where the disk has just begun to refuse. */
function syncsOf(folder: string, name: string): number[] | undefined {
  try {
    return timeSyncs(folder, name, SYNCS);
  } catch {
    return undefined;
  }
}

/** Enough for a median that one slow write does not move; 2 s on a disk that takes 200 ms for each. */
const SYNCS = 9;
