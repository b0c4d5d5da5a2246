import { bounds, type TaskError } from '../contract/index.ts';
import { spoolDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';
import type { Disk } from '../ports/disk.ts';
import type { FolderLock } from '../ports/folder-lock.ts';
import type { Log } from '../ports/log.ts';
import type { ProcessInfo } from '../ports/process-info.ts';
import { refusedFolder, unusable } from './accept.ts';
import { isNoRoom } from './errors.ts';
import { type Layout, layoutOf } from './layout.ts';
import { closedOwner, type Owner, predecessorOf, sessionsBefore } from './owner.ts';
import { forceOwner, readOwner, stateOf, type Taken, takeSpool } from './owner-lock.ts';
import { makeFolders } from './recheck.ts';
import { type Recovered, recover } from './recover.ts';
import { Reserve, removeReserve } from './reserve.ts';
import { Spool } from './spool.ts';
import { shortInWords } from './writing.ts';

export interface SpoolOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly log: Log;
  readonly lock: FolderLock;
  readonly processInfo: ProcessInfo;
  /**
   * Made if it is not there (0700). One that other users could have written into is closed to them, or refused; one that holds
   * other things and was no spool before is refused.
   */
  readonly folder: string;
  readonly workerId: string;
  readonly sessionId: string;
  /** Written into each record: a record is only ever sent to where it belongs. */
  readonly serviceUrl: string;
  /** As far as known; see `useProject`. */
  readonly project?: string;
  /**
   * Bytes on the disk that are kept for what already runs; 0: none. Default `spoolDefaults.reserveBytes`. Without them the
   * spool opens all the same, and says that it can take nothing new.
   */
  readonly reserveBytes?: number;
  /** It cannot take more, in words, and `undefined` when it can again. Tried again by itself. */
  readonly onTrouble?: (why: string | undefined) => void;
  /** Another process holds it now: stop claiming and sending. At most once. */
  readonly onLost?: (why: string) => void;
}

export type OpenSpool =
  | {
      readonly ok: true;
      readonly spool: Spool;
      /** Sessions that had this folder before, of whatever worker: what runs of their handlers is nobody's. */
      readonly oldSessions: readonly string[];
    }
  /** `SPOOL_LOCKED`, `SPOOL_UNSAFE`, `SPOOL_UNWRITABLE`, `SPOOL_UNREADABLE`. */
  | { readonly ok: false; readonly error: TaskError };

/**
 * Takes a spool folder and reads what earlier sessions left. Refused while its holder is alive. Resolves at once, or
 * after `lockSilenceMs` where it cannot be seen whether the last holder is.
 */
export async function openSpool(options: SpoolOptions): Promise<OpenSpool> {
  const layout = layoutOf(options.folder);
  let lost: string | undefined;
  let spool: Spool | undefined;
  const onLost = (why: string) => {
    lost = why;
    spool?.lockAltered(why);
  };

  let owner: Owner | undefined;
  let taken: Taken;
  try {
    const error = await refusedFolder(options.disk, layout);
    if (error) return { ok: false, error };
    await makeFolders(options.disk, layout);
    const make = (previous: Owner | undefined) => {
      owner = ownerOf(options, previous, []);
      return owner;
    };
    taken = await takeOnFullDisk(options, layout, () => takeSpool(options, layout, make, onLost));
  } catch (cause) {
    const error = unusable('SPOOL_UNWRITABLE', 'made or written', options.folder, cause);
    return { ok: false, error };
  }
  if (!taken.ok) return taken;

  let found: Recovered;
  try {
    found = await recover(options, layout);
    const seen = found.sessions.filter(({ workerId }) => workerId === options.workerId);
    const whole = ownerOf(
      options,
      taken.previous,
      seen.map(({ sessionId }) => sessionId),
      owner?.since,
    );
    // Only where the owner record was lost do the records know more.
    if (whole.earlierSessions.length !== owner?.earlierSessions.length)
      await forceOwner(options.disk, layout, whole);
    owner = whole;
  } catch (cause) {
    // Given back, so that the next try need not wait.
    if (owner)
      await forceOwner(options.disk, layout, closedOwner(owner, options.clock.wall())).catch(
        () => {},
      );
    await taken.held.release();
    return { ok: false, error: unusable('SPOOL_UNREADABLE', 'read', options.folder, cause) };
  }
  const reserve = new Reserve(options.disk, layout, options.reserveBytes ?? RESERVE_BYTES);
  const short = await reserve.make().then(
    () => undefined,
    (cause) => shortInWords(layout.folder, cause),
  );
  const predecessor = predecessorOf(taken.previous, options.processInfo.self);
  spool = new Spool(options, layout, owner, taken.held, found, predecessor, reserve);
  if (short !== undefined) spool.reserveMissing(short);
  if (lost !== undefined) spool.lockAltered(lost);
  const old = taken.previous ? [taken.previous.sessionId, ...taken.previous.earlierSessions] : [];
  const seen = found.sessions.map(({ sessionId }) => sessionId);
  return { ok: true, spool, oldSessions: [...new Set([...old, ...seen])] };
}

/** On a full disk the lock itself, a folder, may find no room: then the reserve goes first, unless its holder lives. */
async function takeOnFullDisk(
  options: SpoolOptions,
  layout: Layout,
  take: () => Promise<Taken>,
): Promise<Taken> {
  try {
    return await take();
  } catch (cause) {
    if (!isNoRoom(cause)) throw cause;
    const lies = await options.lock.look(layout.folder);
    const owner = await readOwner(options.disk, layout);
    if ((await stateOf(options, owner, lies?.touchedAtMs)) === 'alive') throw cause;
    await removeReserve(options.disk, layout);
    return take();
  }
}

const RESERVE_BYTES = spoolDefaults.reserveBytes;

function ownerOf(
  options: SpoolOptions,
  previous: Owner | undefined,
  seen: readonly string[],
  since = new Date(options.clock.wall()).toISOString(),
): Owner {
  const { workerId, sessionId } = options;
  const { hostName, pid, startTime, bootId, pidNamespace } = options.processInfo.self;
  return {
    workerId,
    sessionId,
    earlierSessions: sessionsBefore(previous, seen, options, bounds.earlierSessions),
    hostName,
    pid,
    startTime,
    bootId,
    pidNamespace,
    since,
  };
}
