import { readinessDefaults } from './watch-defaults.ts';

/**
 * Whether a worker can be trusted with work now, and whether a watchdog is to be fed: from what it last heard, never from
 * an open socket. All times are the monotonic clock's, in milliseconds.
 */
export interface Contact {
  readonly now: number;
  readonly startedAt: number;
  /** Of the last claim and the last renewal that truly succeeded; absent where none has yet. */
  readonly lastClaimOkAt?: number | undefined;
  readonly lastRenewalOkAt?: number | undefined;
  /** When a call of any kind last ended, with an answer or without: loops that turn end calls. */
  readonly lastCallEndedAt?: number | undefined;
  /** Before that no call is due, by our schedule or because the control plane asked for a pause. */
  readonly nextCallAt?: number | undefined;
  /** Since when the claim loop has been busy with one claim, what it brought included; absent while it waits. */
  readonly claimingSince?: number | undefined;
  /** Attempts that are here and not over. */
  readonly held: number;
  readonly draining: boolean;
  /** Why nothing is claimed for a reason of our own, in words: the spool, the key, paused types. */
  readonly notClaiming?: string | undefined;
  /** Longest wait between two claims, and since when they have been due that often; absent while full. */
  readonly claims?: Cadence | undefined;
  /** Longest wait between two renewals: a third of the shortest lease; absent while nothing is renewed. */
  readonly renewals?: Cadence | undefined;
  /** What the last claim or renewal met that did not succeed, in words. */
  readonly lastFailure?: string | undefined;
}

export interface Cadence {
  readonly everyMs: number;
  /** Default: ever since. */
  readonly since?: number;
}

export interface Readiness {
  readonly ready: boolean;
  /** Why not, as a sentence; absent while ready. */
  readonly why?: string;
  /** Whether the loops turn; if not, why, as a sentence. */
  readonly turning: boolean;
  readonly stalled?: string;
  /** Whether a watchdog is to be fed. */
  readonly feed: boolean;
}

/**
 * Ready: nothing of our own holds claims back, and a claim or renewal has succeeded within its cadence. One that is full
 * renews, and one that is idle gets empty answers: both are ready.
 */
export function readiness(contact: Contact): Readiness {
  const why = notReady(contact);
  const stalled = stall(contact);
  return {
    ready: why === undefined,
    ...(why === undefined ? {} : { why }),
    turning: stalled === undefined,
    ...(stalled === undefined ? {} : { stalled }),
    feed: feedsWatchdog(contact),
  };
}

/**
 * Loops that no longer turn are never fed. Where they turn, a restart helps against nothing that is known here, except
 * one thing: after a long outage with nothing held it harms nobody, and cures a process that is wedged unseen.
 */
export function feedsWatchdog(contact: Contact): boolean {
  if (stall(contact) !== undefined) return false;
  // A drain ends by itself; a key that is refused, or a full disk, is looked at again without a restart.
  if (contact.draining || contact.held > 0 || contact.notClaiming !== undefined) return true;
  const since = lastOk(contact) ?? contact.startedAt;
  const outageMs = Math.max(readinessDefaults.outageMs, allowedMs(contact));
  return contact.now - Math.max(since, contact.claims?.since ?? since) <= outageMs;
}

/** Why the loops count as standing still, as a sentence; `undefined` while they turn. */
export function stall(contact: Contact): string | undefined {
  const { now, startedAt, lastCallEndedAt, nextCallAt, claimingSince } = contact;
  const { stallMs } = readinessDefaults;
  const busy = claimingSince === undefined ? 0 : now - claimingSince;
  if (busy > stallMs) return `The claim loop has been busy with one claim for ${seconds(busy)}.`;
  const due = nextCallAt ?? Number.NEGATIVE_INFINITY;
  const quiet = now - Math.max(lastCallEndedAt ?? startedAt, due);
  if (quiet <= stallMs) return undefined;
  return `No call to the control plane has ended for ${seconds(now - (lastCallEndedAt ?? startedAt))}, although one was due: the worker's loops stand still.`;
}

function notReady(contact: Contact): string | undefined {
  if (contact.draining) return 'It drains: nothing more is claimed.';
  if (contact.notClaiming !== undefined) return `Nothing is claimed: ${contact.notClaiming}`;
  const { now, startedAt, lastFailure } = contact;
  const failed = lastFailure === undefined ? '.' : `; the last one failed: ${lastFailure}`;
  const last = lastOk(contact);
  if (last === undefined)
    return `No claim or renewal has succeeded yet since the start ${seconds(now - startedAt)} ago${failed}`;
  // What has only just come due cannot be late: a slot that is free again after an hour of one long lease.
  const late = [contact.claims, contact.renewals].some(
    (cadence) =>
      cadence !== undefined &&
      now - Math.max(last, cadence.since ?? last) > allowedFor(cadence.everyMs),
  );
  const unexpected = contact.claims === undefined && contact.renewals === undefined;
  if (!late && !(unexpected && now - last > allowedMs(contact))) return undefined;
  return `No claim or renewal has succeeded for ${seconds(now - last)}, and one is due every ${seconds(everyMs(contact))}${failed}`;
}

function lastOk({ lastClaimOkAt, lastRenewalOkAt }: Contact): number | undefined {
  if (lastClaimOkAt === undefined) return lastRenewalOkAt;
  return Math.max(lastClaimOkAt, lastRenewalOkAt ?? lastClaimOkAt);
}

/** The shorter one: where both loops do well, the last success is never older. */
function everyMs({ claims, renewals }: Contact): number {
  const every = Math.min(claims?.everyMs ?? Infinity, renewals?.everyMs ?? Infinity);
  return Number.isFinite(every) ? every : readinessDefaults.unknownEveryMs;
}

function allowedMs(contact: Contact): number {
  return allowedFor(everyMs(contact));
}

function allowedFor(every: number): number {
  return every * readinessDefaults.missed + readinessDefaults.answerMs;
}

function seconds(ms: number): string {
  return ms < 10_000
    ? `${(ms / 1000).toFixed(1).replace(/\.0$/, '')} s`
    : `${Math.round(ms / 1000)} s`;
}
