import * as z from 'zod';
import type { ProcessIdentity, ProcessSight } from '../ports/process-info.ts';
import { encodeLine, unseal } from './records.ts';

/** Who holds the spool (`owner.json`), or held it last; and which sessions were before. */
export interface Owner {
  readonly workerId: string;
  readonly sessionId: string;
  /** Of the same worker, newest first, at most 8: a claim names them. */
  readonly earlierSessions: readonly string[];
  readonly hostName: string;
  readonly pid: number;
  readonly startTime?: string | undefined;
  readonly bootId?: string | undefined;
  readonly pidNamespace?: string | undefined;
  /** RFC 3339, by the wall clock. */
  readonly since: string;
  /** Set when it was given back in order. */
  readonly closedAt?: string | undefined;
  /** It is no worker, but a person's command that has the spool for a moment. */
  readonly visit?: Visiting | undefined;
}

export interface Visiting {
  /** `interlock spool retry` */
  readonly by: string;
  /** The record as it was before, and will be again; absent where there was none. */
  readonly from?: Owner | undefined;
}

const workerFields = {
  workerId: z.string(),
  sessionId: z.string(),
  earlierSessions: z.array(z.string()),
  hostName: z.string(),
  pid: z.int(),
  startTime: z.string().optional(),
  bootId: z.string().optional(),
  pidNamespace: z.string().optional(),
  since: z.string(),
  closedAt: z.string().optional(),
};

const ownerRecord = z.object({
  kind: z.literal('owner'),
  ...workerFields,
  visit: z.object({ by: z.string(), from: z.object(workerFields).optional() }).optional(),
});

/** The last worker: of a visit (which may have been killed) the one before it. */
export function workerOf(owner: Owner | undefined): Owner | undefined {
  return owner?.visit ? owner.visit.from : owner;
}

export function encodeOwner(owner: Owner): string {
  return encodeLine({ kind: 'owner', ...owner }).text;
}

export function decodeOwner(
  content: Uint8Array,
): { ok: true; owner: Owner } | { ok: false; why: string } {
  const end = content.at(-1) === 0x0a ? -1 : undefined;
  const whole = unseal(content.subarray(0, end));
  if (!whole.ok) return whole;
  const read = ownerRecord.safeParse(whole.record);
  return read.success
    ? { ok: true, owner: read.data }
    : { ok: false, why: 'is no record of an owner' };
}

/** The record of an owner that gives its spool back. */
export function closedOwner(owner: Owner, wallMs: number): Owner {
  return { ...owner, closedAt: new Date(wallMs).toISOString() };
}

/** What can be said of a holder that did not give its spool back. */
export type OwnerState = 'alive' | 'gone' | 'unknown';

/**
 * Whether the owner still runs, as far as this process can tell. `unknown`: it is out of sight (another host,
 * another container), or the system does not tell start times; then the lock's signs of life decide.
 *
 * @param sight what `look(owner.pid)` said here.
 * @param touchedAtMs the lock's last sign of life, by the owner's wall clock.
 */
export function judgeOwner(
  owner: Pick<Owner, 'bootId' | 'hostName' | 'pidNamespace' | 'startTime'>,
  self: ProcessIdentity,
  sight: ProcessSight,
  touchedAtMs: number | undefined,
): OwnerState {
  if (owner.bootId && self.bootId && owner.bootId !== self.bootId) {
    // Another machine, or this one before its last boot. Twins of one name are told apart by the
    // lock: nobody who died with the last boot has touched it since.
    const before = touchedAtMs === undefined || touchedAtMs <= self.bootedAtMs;
    return owner.hostName === self.hostName && before ? 'gone' : 'unknown';
  }
  // The same boot is the same machine, whatever its name is today.
  const sameBoot = owner.bootId !== undefined && owner.bootId === self.bootId;
  if (!sameBoot && owner.hostName !== self.hostName) return 'unknown';
  if (owner.pidNamespace !== self.pidNamespace) return 'unknown';
  if (!sight.alive) return 'gone';
  if (!owner.startTime || !sight.startTime) return 'unknown';
  // The pid may be somebody else's by now, even our own.
  return owner.startTime === sight.startTime ? 'alive' : 'gone';
}

/** Who had the spool before, for people. */
export interface Predecessor {
  readonly workerId: string;
  readonly sessionId: string;
  readonly pid: number;
  readonly hostName: string;
  /** RFC 3339, by its wall clock. */
  readonly since: string;
  /**
   * `in-order`: it gave the spool back · `machine-restarted`: it went with the machine · `died`: the same machine
   * runs on, so it was killed or crashed · `unknown`: it was on another host.
   */
  readonly went: 'in-order' | 'machine-restarted' | 'died' | 'unknown';
}

export function predecessorOf(
  owner: Owner | undefined,
  self: Pick<ProcessIdentity, 'hostName' | 'bootId'>,
): Predecessor | undefined {
  if (!owner) return undefined;
  const { workerId, sessionId, pid, hostName, since } = owner;
  return { workerId, sessionId, pid, hostName, since, went: howItWent(owner, self) };
}

function howItWent(
  owner: Owner,
  self: Pick<ProcessIdentity, 'hostName' | 'bootId'>,
): Predecessor['went'] {
  if (owner.closedAt !== undefined) return 'in-order';
  const bootsKnown = owner.bootId !== undefined && self.bootId !== undefined;
  // The same boot is the same machine, whatever its name is today (a container started anew).
  if (bootsKnown && owner.bootId === self.bootId) return 'died';
  if (owner.hostName !== self.hostName) return 'unknown';
  return bootsKnown ? 'machine-restarted' : 'unknown';
}

/** The sessions that the next owner has to name: the last one's first, each once. */
export function sessionsBefore(
  previous: Owner | undefined,
  seen: readonly string[],
  next: { readonly workerId: string; readonly sessionId: string },
  max: number,
): string[] {
  const mine = previous?.workerId === next.workerId ? previous : undefined;
  const all = [...(mine ? [mine.sessionId, ...mine.earlierSessions] : []), ...seen];
  return [...new Set(all)].filter((id) => id !== next.sessionId).slice(0, max);
}
