import type { TaskError } from '../../contract/index.ts';
import { spoolDefaults } from '../../core/defaults.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Disk } from '../../ports/disk.ts';
import type { FolderLock, HeldLock } from '../../ports/folder-lock.ts';
import type { ProcessInfo } from '../../ports/process-info.ts';
import { causeCode, spoolError } from './errors.ts';
import type { Layout } from './layout.ts';
import { decodeOwner, encodeOwner, judgeOwner, type Owner, type OwnerState } from './owner.ts';

export interface LockPorts {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly lock: FolderLock;
  readonly processInfo: ProcessInfo;
}

export type Taken =
  | { readonly ok: true; readonly held: HeldLock; readonly previous: Owner | undefined }
  | { readonly ok: false; readonly error: TaskError };

/**
 * Takes the spool. Its holder is found alive: refused. Gone: taken at once, whatever the lock's age. Out of sight:
 * the lock is watched; a sign of life refuses, `lockSilenceMs` without one takes it. Judging, breaking, taking and
 * writing the owner record are one step behind the lock's door, so two that come at once cannot both get it.
 *
 * @param make the record to write, once it is known who was before.
 */
export async function takeSpool(
  ports: LockPorts,
  layout: Layout,
  make: (previous: Owner | undefined) => Owner,
  onLost: (why: string) => void,
): Promise<Taken> {
  let watched: { stamp: string; looks: number } | undefined;
  let missing = 0;
  const attempt = async (): Promise<Taken | undefined> => {
    const lies = await ports.lock.look(layout.folder);
    const previous = await readOwner(ports.disk, layout);
    const state = await stateOf(ports, previous, lies?.touchedAtMs);
    if (state === 'alive' && !lies) {
      // Given back without a word, or removed by hand: then it is back at the holder's next sign of life.
      if (++missing * spoolDefaults.lockLookMs <= spoolDefaults.lockReturnMs) return undefined;
    } else if (state === 'alive') {
      return { ok: false, error: lockedError(layout, previous, 'alive') };
    }
    if (lies && state === 'unknown') {
      if (watched && watched.stamp !== lies.stamp)
        return { ok: false, error: lockedError(layout, previous, 'unknown') };
      watched = { stamp: lies.stamp, looks: (watched?.looks ?? 0) + 1 };
      // Counted in looks, not in time: while the machine slept, the holder could give no sign either.
      if (watched.looks * spoolDefaults.lockLookMs <= spoolDefaults.lockSilenceMs) return undefined;
    }
    if (lies) await ports.lock.breakOpen(layout.folder);
    const held = await ports.lock.take(layout.folder, onLost);
    if (!held) return undefined;
    try {
      await writeOwner(ports.disk, layout, make(previous));
    } catch (cause) {
      await held.release();
      throw cause;
    }
    return { ok: true, held, previous };
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
  return ports.lock.door(layout.folder, async () => {
    const owner = await readOwner(ports.disk, layout);
    if (owner === undefined) return 'gone';
    if (owner.sessionId !== sessionId) return 'taken';
    await ports.lock.breakOpen(layout.folder);
    return (await ports.lock.take(layout.folder, onLost)) ?? 'taken';
  });
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

/** By the owner that the record names, and no other: it may have lost the spool and not know it yet. */
export async function rewriteOwner(ports: LockPorts, layout: Layout, owner: Owner): Promise<void> {
  await ports.lock.door(layout.folder, async () => {
    const there = await readOwner(ports.disk, layout);
    if (there && there.sessionId !== owner.sessionId)
      throw spoolError('SPOOL_LOST', `The spool ${layout.folder} belongs to another process now.`);
    await writeOwner(ports.disk, layout, owner);
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

function lockedError(layout: Layout, owner: Owner | undefined, state: OwnerState): TaskError {
  const { folder } = layout;
  if (!owner)
    return spoolError(
      'SPOOL_LOCKED',
      `The spool ${folder} is held by a process that is out of sight.`,
    );
  const details = {
    folder,
    workerId: owner.workerId,
    pid: owner.pid,
    hostName: owner.hostName,
    since: owner.since,
  };
  const who = `worker "${owner.workerId}" (process ${owner.pid} on ${owner.hostName}, since ${owner.since})`;
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
