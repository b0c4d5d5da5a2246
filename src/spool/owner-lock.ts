import type { TaskError } from '../contract/index.ts';
import { spoolDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';
import type { Disk } from '../ports/disk.ts';
import type { FolderLock, HeldLock, StillOurs } from '../ports/folder-lock.ts';
import type { ProcessInfo } from '../ports/process-info.ts';
import { causeCode, isNoRoom, spoolError } from './errors.ts';
import type { Layout } from './layout.ts';
import {
  decodeOwner,
  encodeOwner,
  judgeOwner,
  type Owner,
  type OwnerState,
  workerOf,
} from './owner.ts';
import { removeReserve } from './reserve.ts';

export interface LockPorts {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly lock: FolderLock;
  readonly processInfo: ProcessInfo;
}

export type Taken =
  /** `previous`: the last worker. */
  | { readonly ok: true; readonly held: HeldLock; readonly previous: Owner | undefined }
  | { readonly ok: false; readonly error: TaskError };

/**
 * Takes the spool. Its holder is found alive: refused. Gone: taken at once, whatever the lock's age. Out of sight:
 * the lock is watched; a sign of life refuses, `lockSilenceMs` without one takes it. Judging, breaking, taking and
 * writing the owner record are one step behind the lock's door, so two that come at once cannot both get it. Whoever stood
 * still behind it until it was broken open finds it another's before each of these steps, and judges anew. Only between that
 * look and the step itself, microseconds, can it stand still unseen: then the one whose session the record names keeps the
 * spool, and the other notices at its next sign of life.
 *
 * @param make the record to write, once it is known which worker was before.
 * @param write default: also on a full disk.
 */
export async function takeSpool(
  ports: LockPorts,
  layout: Layout,
  make: (previous: Owner | undefined) => Owner,
  onLost: (why: string) => void,
  write = forceOwner,
): Promise<Taken> {
  let watched: { stamp: string; looks: number } | undefined;
  let missing = 0;
  const attempt = async (stillOurs: StillOurs): Promise<Taken | undefined> => {
    const lies = await ports.lock.look(layout.folder);
    const previous = await readOwner(ports.disk, layout);
    const state = await stateOf(ports, previous, lies?.touchedAtMs);
    if (state === 'alive' && !lies) {
      // Given back without a word, or removed by hand: then it is back at the holder's next sign of life.
      if (++missing * spoolDefaults.lockLookMs <= spoolDefaults.lockReturnMs) return undefined;
    } else if (state === 'alive') {
      const silentMs = lies && ports.clock.wall() - lies.touchedAtMs;
      return { ok: false, error: lockedError(layout, previous, 'alive', silentMs) };
    }
    if (lies && state === 'unknown') {
      if (watched && watched.stamp !== lies.stamp)
        return { ok: false, error: lockedError(layout, previous, 'unknown') };
      watched = { stamp: lies.stamp, looks: (watched?.looks ?? 0) + 1 };
      // Counted in looks, not in time: while the machine slept, the holder could give no sign either.
      if (watched.looks * spoolDefaults.lockLookMs <= spoolDefaults.lockSilenceMs) return undefined;
    }
    if (!(await stillOurs())) return undefined;
    if (lies && !(await ports.lock.breakOpen(layout.folder, lies.stamp))) return undefined;
    if (!(await stillOurs())) return undefined;
    const held = await ports.lock.take(layout.folder, onLost);
    if (!held) return undefined;
    try {
      if (!(await stillOurs())) {
        await held.release();
        return undefined;
      }
      await write(ports.disk, layout, make(workerOf(previous)));
    } catch (cause) {
      await held.release();
      throw cause;
    }
    return { ok: true, held, previous: workerOf(previous) };
  };
  for (;;) {
    const taken = await ports.lock.door(layout.folder, attempt);
    if (taken) return taken;
    await ports.clock.sleep(spoolDefaults.lockLookMs);
  }
}

/**
 * The lock was taken away or altered under its holder. If the owner record is still ours, nobody has come (a hand, a
 * backup or a clock touched it): it is taken again. `gone`: there is no record any more, so it was no other worker.
 */
export async function takeAgain(
  ports: LockPorts,
  layout: Layout,
  sessionId: string,
  onLost: (why: string) => void,
): Promise<HeldLock | 'taken' | 'gone'> {
  return behindDoor(ports.lock, layout.folder, async (stillOurs) => {
    const lies = await ports.lock.look(layout.folder);
    const owner = await readOwner(ports.disk, layout);
    if (owner === undefined) return 'gone';
    if (owner.sessionId !== sessionId) return 'taken';
    if (!(await stillOurs())) return undefined;
    if (lies && !(await ports.lock.breakOpen(layout.folder, lies.stamp))) return undefined;
    if (!(await stillOurs())) return undefined;
    return (await ports.lock.take(layout.folder, onLost)) ?? 'taken';
  });
}

/** Again where `work` ends with `undefined`: the door, or what was judged behind it, was another's before its end. */
export async function behindDoor<T>(
  lock: Pick<FolderLock, 'door'>,
  folder: string,
  work: (stillOurs: StillOurs) => Promise<T | undefined>,
): Promise<T> {
  for (;;) {
    const done = await lock.door(folder, work);
    if (done !== undefined) return done;
  }
}

/** `undefined` where there is none, or none that can be understood. */
export async function readOwner(disk: Disk, layout: Layout): Promise<Owner | undefined> {
  let content: Uint8Array;
  try {
    content = await disk.readFile(layout.owner);
  } catch (cause) {
    if (causeCode(cause) === 'ENOENT') return undefined;
    throw cause;
  }
  const read = decodeOwner(content);
  return read.ok ? read.owner : undefined;
}

/** Durable: a claim names the sessions before, so they must be known after any crash. */
export async function writeOwner(disk: Disk, layout: Layout, owner: Owner): Promise<void> {
  await disk.writeFile(layout.owner, encodeOwner(owner));
  await disk.syncFolder(layout.folder);
}

/**
 * Also on a full disk, where a worker that owes reports must start all the same: the reserve goes first, then the bytes
 * of the record that is there are written over. A power cut in between leaves a record that says nothing: then the lock's
 * signs of life tell whether somebody is there.
 */
export async function forceOwner(disk: Disk, layout: Layout, owner: Owner): Promise<void> {
  try {
    await writeOwner(disk, layout, owner);
  } catch (full) {
    if (!isNoRoom(full)) throw full;
    await removeReserve(disk, layout);
    try {
      await writeOwner(disk, layout, owner);
    } catch (cause) {
      if (!isNoRoom(cause) || (await disk.look(layout.owner))?.kind !== 'file') throw cause;
      await disk.writeOver(layout.owner, encodeOwner(owner));
    }
  }
}

/** By the owner that the record names, and no other: it may have lost the spool and not know it yet. */
export async function rewriteOwner(
  ports: LockPorts,
  layout: Layout,
  owner: Owner,
  write = writeOwner,
): Promise<void> {
  await behindDoor(ports.lock, layout.folder, async (stillOurs) => {
    const there = await readOwner(ports.disk, layout);
    if (there && there.sessionId !== owner.sessionId)
      throw spoolError('SPOOL_LOST', `The spool ${layout.folder} belongs to another process now.`);
    if (!(await stillOurs())) return undefined;
    await write(ports.disk, layout, owner);
    return true;
  });
}

export async function stateOf(
  ports: Pick<LockPorts, 'processInfo'>,
  owner: Owner | undefined,
  touchedAtMs: number | undefined,
): Promise<OwnerState> {
  if (!owner || owner.closedAt) return 'unknown';
  const { self, look } = ports.processInfo;
  return judgeOwner(owner, self, await look(owner.pid), touchedAtMs);
}

/** Who has the spool, or had it last, for people. A visit that was killed is none: then it is whoever was before. */
export async function seeOwner(
  ports: Pick<LockPorts, 'disk' | 'lock' | 'processInfo'>,
  layout: Layout,
): Promise<{ readonly owner: Owner; readonly state: OwnerState | 'closed' } | undefined> {
  const there = await readOwner(ports.disk, layout);
  const lies = await ports.lock.look(layout.folder);
  let owner = there;
  let state = await stateOf(ports, owner, lies?.touchedAtMs);
  if (there?.visit && state === 'gone') {
    owner = workerOf(there);
    state = await stateOf(ports, owner, lies?.touchedAtMs);
  }
  return owner && { owner, state: owner.closedAt ? 'closed' : state };
}

/** Of a command that has it for a moment: nobody has to stop it. */
export function visitedError(folder: string, owner: Owner, by: string): TaskError {
  const { pid, hostName, since } = owner;
  return spoolError(
    'SPOOL_LOCKED',
    `The spool ${folder} is held by \`${by}\` (process ${pid} on ${hostName}, since ${since}).`,
    {
      hint: 'It needs seconds: wait until it has ended, then try again.',
      details: { folder, visit: by, pid, hostName, since },
    },
  );
}

/** @param silentMs since the lock's last sign of life, where it can be told. */
function lockedError(
  layout: Layout,
  owner: Owner | undefined,
  state: OwnerState,
  silentMs = 0,
): TaskError {
  const { folder } = layout;
  if (!owner)
    return spoolError(
      'SPOOL_LOCKED',
      `The spool ${folder} is held by a process that is out of sight.`,
    );
  if (owner.visit) return visitedError(folder, owner, owner.visit.by);
  const details = {
    folder,
    workerId: owner.workerId,
    pid: owner.pid,
    hostName: owner.hostName,
    since: owner.since,
  };
  const who = `worker "${owner.workerId}" (process ${owner.pid} on ${owner.hostName}, since ${owner.since})`;
  // Its process is there, but this may not be its folder.
  if (state === 'alive' && silentMs > spoolDefaults.lockSilenceMs)
    return spoolError(
      'SPOOL_LOCKED',
      `The spool ${folder} names ${who} as its holder. That process is there, but has given no sign of life in this folder for ${Math.round(silentMs / 1_000)} s: it is stopped, or this is a copy of its spool.`,
      {
        hint: 'Give this worker a spool of its own (`--spool`). What lies in a copy is sent by the worker that has the original.',
        details,
      },
    );
  if (state === 'alive')
    return spoolError('SPOOL_LOCKED', `The spool ${folder} is held by ${who}, which is running.`, {
      details,
    });
  return spoolError(
    'SPOOL_LOCKED',
    `The spool ${folder} is held by ${who}. That process is out of sight from here (another host or container), but it has just given a sign of life.`,
    { details },
  );
}
