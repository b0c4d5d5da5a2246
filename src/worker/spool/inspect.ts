import { join } from 'node:path';
import type { Clock } from '../../ports/clock.ts';
import type { Disk } from '../../ports/disk.ts';
import type { FolderLock } from '../../ports/folder-lock.ts';
import type { ProcessInfo } from '../../ports/process-info.ts';
import type { Random } from '../../ports/random.ts';
import { causeCode } from './errors.ts';
import { layoutOf } from './layout.ts';
import type { OwnerState } from './owner.ts';
import { readOwner, stateOf } from './owner-lock.ts';
import { openToOthers } from './private.ts';
import { readSpool } from './read-spool.ts';
import { settle } from './settle.ts';

export interface SpoolInspection {
  readonly folder: string;
  readonly exists: boolean;
  /** `false` with the reason in `why`; then the numbers are zero. */
  readonly readable: { readonly ok: boolean; readonly why?: string };
  /** Proven by a file that was written, fsynced (with its folder) and removed; how long that took. */
  readonly writable: { readonly ok: boolean; readonly why?: string; readonly tookMs?: number };
  readonly owner?: {
    readonly workerId: string;
    readonly pid: number;
    readonly hostName: string;
    readonly since: string;
    /** `closed`: given back in order. `unknown`: out of sight from here. */
    readonly state: OwnerState | 'closed';
  };
  /** Reports that are not yet answered. */
  readonly pending: number;
  readonly bytes: number;
  readonly oldestMs: number | null;
  /** Attempts held (or left by a crash) without a report. */
  readonly running: number;
  readonly setAside: { readonly stale: number; readonly refused: number; readonly corrupt: number };
  /** Bad lines in group files that no start has set aside yet. */
  readonly corruptLines: readonly {
    readonly file: string;
    readonly line: number;
    readonly why: string;
  }[];
  readonly newer: number;
  readonly unreadable: readonly { readonly file: string; readonly why: string }[];
}

/**
 * Looks at a spool, also beside the worker that holds it: takes no lock and changes no record. It is read by the same
 * code as at a start.
 */
export async function inspectSpool(ports: {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  readonly lock: FolderLock;
  readonly processInfo: ProcessInfo;
  readonly folder: string;
}): Promise<SpoolInspection> {
  const { disk, clock, lock, folder } = ports;
  const layout = layoutOf(folder);
  const none: SpoolInspection = {
    folder,
    exists: false,
    readable: { ok: true },
    writable: { ok: true },
    pending: 0,
    bytes: 0,
    oldestMs: null,
    running: 0,
    setAside: { stale: 0, refused: 0, corrupt: 0 },
    corruptLines: [],
    newer: 0,
    unreadable: [],
  };
  try {
    if (!(await disk.stat(folder))) return none;
    const unsafe = await openToOthers(disk, layout, { close: false });
    if (unsafe !== undefined)
      return {
        ...none,
        exists: true,
        readable: { ok: false, why: unsafe },
        writable: { ok: false, why: 'it is not tried in a folder that is not safe' },
      };
    const read = await readSpool(disk, layout);
    const owner = await readOwner(disk, layout);
    const { reports, running } = settle(read);
    const lies = await lock.look(folder);
    const state = owner?.closedAt ? 'closed' : await stateOf(ports, owner, lies?.touchedAtMs);
    const groups = [
      ...read.reports.map((file) => ({ ...file, path: join(layout.reports, file.name) })),
      ...read.running.map((file) => ({ ...file, path: join(layout.running, file.name) })),
    ];
    const [oldest] = reports;
    return {
      ...none,
      exists: true,
      writable: await tryToWrite(ports),
      ...(owner && {
        owner: {
          workerId: owner.workerId,
          pid: owner.pid,
          hostName: owner.hostName,
          since: owner.since,
          state,
        },
      }),
      pending: reports.length,
      bytes: reports.reduce((sum, { bytes }) => sum + bytes, 0),
      oldestMs: oldest
        ? Math.max(0, clock.wall() - Date.parse(oldest.record.spooledAt)) || 0
        : null,
      running: running.length,
      setAside: {
        stale: read.stale.length,
        refused: read.refused.length,
        corrupt: read.corrupt.length,
      },
      corruptLines: groups.flatMap(({ path, content }) =>
        content.bad.map(({ line, why }) => ({ file: path, line, why })),
      ),
      newer: groups.reduce((sum, { content }) => sum + content.newer, 0),
      unreadable: read.unreadable,
    };
  } catch (cause) {
    const why = causeCode(cause);
    if (why === undefined) throw cause;
    return {
      ...none,
      exists: true,
      readable: { ok: false, why },
      writable: await tryToWrite(ports),
    };
  }
}

/** A probe of a name of its own; one that a crash leaves is swept at the next start. */
async function tryToWrite(ports: {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  readonly folder: string;
}): Promise<SpoolInspection['writable']> {
  const { disk, clock, random, folder } = ports;
  const name = `doctor-${Buffer.from(random.bytes(8)).toString('hex')}.probe`;
  const startMs = clock.now();
  try {
    await disk.writeFile(join(folder, name), 'doctor was here\n');
    await disk.syncFolder(folder);
    const tookMs = clock.now() - startMs;
    await disk.remove(join(folder, name));
    return { ok: true, tookMs };
  } catch (cause) {
    return { ok: false, why: causeCode(cause) ?? String(cause) };
  }
}
