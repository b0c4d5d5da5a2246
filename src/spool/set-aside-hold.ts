import { bounds, type TaskError } from '../contract/index.ts';
import type { Random } from '../ports/random.ts';
import { causeCode, isNoRoom, spoolError } from './errors.ts';
import { type Layout, layoutOf } from './layout.ts';
import { encodeOwner, type Owner, sessionsBefore } from './owner.ts';
import { type LockPorts, readOwner, takeSpool, writeOwner } from './owner-lock.ts';
import { openToOthers } from './private.ts';

export interface HoldPorts extends LockPorts {
  readonly random: Random;
  readonly folder: string;
}

/** A spool that a person's command holds, between two workers. */
export interface Visit {
  readonly layout: Layout;
  /** Of this visit alone: names of its files are made of it. */
  readonly sessionId: string;
  /** Why the spool is no longer ours, if so: then nothing more may be removed from it. */
  lost(): string | undefined;
}

export type Held<T> =
  | { readonly ok: true; readonly value: T }
  /** `SPOOL_LOCKED` (a worker has it), `SPOOL_UNSAFE`, `SPOOL_UNWRITABLE`. */
  | { readonly ok: false; readonly error: TaskError };

/**
 * Takes a spool for a moment, as a worker would, and gives it back with the owner record as it was: the next worker
 * has to name the sessions before it, and a visit is none. One that is killed leaves a record that tells what it was, and
 * who was before. The reserve is the worker's: on a full disk the visit fails, and changes nothing.
 *
 * @param by the command, for those who find it there.
 */
export async function whileHeld<T>(
  ports: HoldPorts,
  by: string,
  work: (visit: Visit) => Promise<T>,
): Promise<Held<T>> {
  const layout = layoutOf(ports.folder);
  const sessionId = `ses_${Buffer.from(ports.random.bytes(16)).toString('hex')}`;
  let lost: string | undefined;
  const refused = (cause: unknown): Held<T> => {
    const reason = causeCode(cause);
    if (reason === undefined) throw cause;
    const message = `The spool ${ports.folder} cannot be taken (${reason}).`;
    return { ok: false, error: spoolError('SPOOL_UNWRITABLE', message, { cause }) };
  };
  let taken: Awaited<ReturnType<typeof takeSpool>>;
  try {
    const unsafe = await openToOthers(ports.disk, layout, { close: false });
    if (unsafe !== undefined) return { ok: false, error: spoolError('SPOOL_UNSAFE', unsafe) };
    taken = await takeSpool(
      ports,
      layout,
      (previous) => visitor(ports, previous, sessionId, by),
      (why) => {
        lost = why;
      },
      writeOwner,
    );
  } catch (cause) {
    return refused(cause);
  }
  if (!taken.ok) return taken;
  try {
    return { ok: true, value: await work({ layout, sessionId, lost: () => lost }) };
  } finally {
    // Without it (a full disk) the next owner sees that this process is gone.
    await giveBack(ports, layout, sessionId, taken.previous).catch(() => {});
    await taken.held.release();
  }
}

function visitor(
  ports: HoldPorts,
  previous: Owner | undefined,
  sessionId: string,
  by: string,
): Owner {
  const { hostName, pid, startTime, bootId, pidNamespace } = ports.processInfo.self;
  const next = { workerId: previous?.workerId ?? 'interlock-spool', sessionId };
  return {
    ...next,
    earlierSessions: sessionsBefore(previous, [], next, bounds.earlierSessions),
    hostName,
    pid,
    startTime,
    bootId,
    pidNamespace,
    since: new Date(ports.clock.wall()).toISOString(),
    visit: { by, ...(previous && { from: previous }) },
  };
}

async function giveBack(
  ports: HoldPorts,
  layout: Layout,
  sessionId: string,
  previous: Owner | undefined,
): Promise<void> {
  await ports.lock.door(layout.folder, async () => {
    const there = await readOwner(ports.disk, layout);
    if (there?.sessionId !== sessionId) return;
    if (!previous) return ports.disk.remove(layout.owner);
    try {
      await writeOwner(ports.disk, layout, previous);
    } catch (cause) {
      if (!isNoRoom(cause)) throw cause;
      // It is shorter than the visit's, which holds it.
      await ports.disk.writeOver(layout.owner, encodeOwner(previous));
    }
  });
}
