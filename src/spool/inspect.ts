import { join } from 'node:path';
import type { Clock } from '../ports/clock.ts';
import type { Disk } from '../ports/disk.ts';
import type { FolderLock } from '../ports/folder-lock.ts';
import type { ProcessInfo } from '../ports/process-info.ts';
import type { Random } from '../ports/random.ts';
import { causeCode } from './errors.ts';
import { layoutOf } from './layout.ts';
import type { Owner, OwnerState } from './owner.ts';
import { seeOwner } from './owner-lock.ts';
import { oddity, openToOthers } from './private.ts';
import { readSpool } from './read-spool.ts';
import { type Refusal, readRefusal } from './refusal.ts';
import { settle } from './settle.ts';

export interface SpoolInspection {
  readonly folder: string;
  readonly exists: boolean;
  /** `false` with the reason in `why`; then the numbers are zero. */
  readonly readable: { readonly ok: boolean; readonly why?: string };
  /** Proven by a file that was written beside, fsynced, renamed, made durable with its folder, and removed. */
  readonly writable: {
    readonly ok: boolean;
    readonly why?: string;
    /** The median of some. */
    readonly tookMs?: number;
  };
  readonly owner?: {
    readonly workerId: string;
    readonly pid: number;
    readonly hostName: string;
    readonly since: string;
    /** `closed`: given back in order. `unknown`: out of sight from here. */
    readonly state: OwnerState | 'closed';
    /** A person's command that has it for a moment, beside no worker: `interlock spool retry`. */
    readonly visit?: string;
  };
  /** The control plane refuses the worker, or refused it when it asked last. */
  readonly refusal?: Refusal;
  /** Sessions whose handler processes have no right to run any more, newest first; none where that cannot be seen. */
  readonly oldSessions: readonly string[];
  /** Room that is kept for what already runs; `undefined`: it is not there. */
  readonly reserveBytes: number | undefined;
  /** What lies in its place is none, in words; `inTheWay`: a worker makes none and claims nothing until it is moved away. */
  readonly reserveTrouble?: { readonly why: string; readonly inTheWay: boolean };
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
  const { disk, clock, folder } = ports;
  const layout = layoutOf(folder);
  const none: SpoolInspection = {
    folder,
    exists: false,
    readable: { ok: true },
    writable: { ok: true },
    oldSessions: [],
    reserveBytes: undefined,
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
    const held = await seeOwner(ports, layout);
    const { reports, running } = settle(read);
    const groups = [
      ...read.reports.map((file) => ({ ...file, path: join(layout.reports, file.name) })),
      ...read.running.map((file) => ({ ...file, path: join(layout.running, file.name) })),
    ];
    const [oldest] = reports;
    const refusal = await readRefusal(disk, layout.refusal);
    return {
      ...none,
      exists: true,
      writable: await tryToWrite(ports),
      ...(held && { owner: ownerFacts(held) }),
      ...(refusal && { refusal }),
      oldSessions: held ? sessionsOver(held.owner, held.state) : [],
      ...(await reserveAt(disk, layout.reserve)),
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

export function ownerFacts({
  owner,
  state,
}: NonNullable<Awaited<ReturnType<typeof seeOwner>>>): SpoolInspection['owner'] & object {
  const { workerId, pid, hostName, since, visit } = owner;
  return { workerId, pid, hostName, since, state, ...(visit && { visit: visit.by }) };
}

/** By what lies there itself: a link may lead to something of any size. */
async function reserveAt(
  disk: Disk,
  path: string,
): Promise<Pick<SpoolInspection, 'reserveBytes' | 'reserveTrouble'>> {
  const seen = await disk.look(path);
  const odd = seen && oddity(seen, 'file');
  if (odd !== undefined)
    return {
      reserveBytes: undefined,
      reserveTrouble: { why: `${path} ${odd}`, inTheWay: true },
    };
  const stat = seen && (await disk.stat(path));
  if (!stat) return { reserveBytes: undefined };
  const { bytes, allocatedBytes } = stat;
  if (allocatedBytes >= bytes) return { reserveBytes: bytes };
  const why = `${path} has ${bytes} bytes, and takes only ${allocatedBytes} of the disk`;
  return { reserveBytes: bytes, reserveTrouble: { why, inTheWay: false } };
}

function sessionsOver(owner: Owner, state: OwnerState | 'closed'): readonly string[] {
  if (state === 'unknown') return [];
  return [...(state === 'alive' ? [] : [owner.sessionId]), ...owner.earlierSessions];
}

/** Probes of names of their own, beside the worker too; one that a crash leaves is swept at a later start. */
async function tryToWrite(ports: {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  readonly folder: string;
}): Promise<SpoolInspection['writable']> {
  const { disk, clock, random, folder } = ports;
  const tookMs: number[] = [];
  for (let round = 0; round < PROBES; round++) {
    const path = join(folder, probeName(random));
    const startMs = clock.now();
    try {
      await disk.writeFile(path, 'doctor was here\n');
      await disk.syncFolder(folder);
      tookMs.push(clock.now() - startMs);
    } catch (cause) {
      return { ok: false, why: causeCode(cause) ?? String(cause) };
    } finally {
      await disk.remove(path).catch(() => {});
    }
  }
  return { ok: true, tookMs: tookMs.sort((a, b) => a - b)[PROBES >> 1] as number };
}

/** Of a file that a doctor may make in a spool, also beside its worker. */
export function probeName(random: Random): string {
  return `doctor-${Buffer.from(random.bytes(8)).toString('hex')}.probe`;
}

/** Few, since a slow disk is what may be found. */
const PROBES = 3;
