import type { PausedType } from '../contract/worker-calls.ts';
import { backoffMs } from './backoff.ts';
import { workerDefaults } from './defaults.ts';

/**
 * Types that this worker leaves alone for a while: their handlers could not be started here, or failed here again and
 * again for reasons of this host. A claim would only use up the task's tries. A pause that has run out becomes a trial:
 * one attempt at a time, until one begins (or, after failures, ends well). Pure.
 */
export interface Pause {
  /** Trials in a row that failed. */
  readonly failures: number;
  /** By the clock; from then on it is a trial. */
  readonly until: number;
  /** How long it was made, for words. */
  readonly forMs: number;
  /** In words, complete but for how often. */
  readonly why: string;
  readonly endedBy: EndedBy;
}

/** `begin`: a handler could not be started, and one begins · `outcome`: handlers failed, and one ends for no reason of this host. */
export type EndedBy = 'begin' | 'outcome';

/** By `typeKey`, and `everyType`. */
export type Pauses = ReadonlyMap<string, Pause>;

export const noPauses: Pauses = new Map();

/** The host as a whole is in trouble. No `typeKey` looks like that. */
export const everyType = '*';

export interface Trouble {
  readonly type: string;
  /**
   * Of the `not-begun`: `HOST_NOT_STARTED` means that no process can be started, which pauses every type; and this one
   * by itself, since another type's warm host proves nothing for it.
   */
  readonly code?: string;
  /** What was said. */
  readonly why: string;
  readonly endedBy?: EndedBy;
}

/** @param fraction in [0, 1). */
export function pausedBy(
  pauses: Pauses,
  { type, code, why, endedBy = 'begin' }: Trouble,
  now: number,
  fraction: number,
): { readonly pauses: Pauses; readonly made: readonly string[] } {
  const next = new Map(pauses);
  const made: string[] = [];
  const names = code === 'HOST_NOT_STARTED' ? [everyType, type] : [type];
  for (const name of names) {
    const before = pauses.get(name);
    // Of the same claim as the one that made the pause: no trial has failed since.
    if (before !== undefined && now < before.until) continue;
    const failures = (before?.failures ?? 0) + 1;
    const backoff = endedBy === 'begin' ? workerDefaults.typePause : workerDefaults.hostPause;
    const forMs = Math.min(backoffMs(backoff, failures, fraction), backoff.maxMs);
    next.set(name, { failures, until: now + forMs, forMs, why, endedBy });
    made.push(name);
  }
  return { pauses: next, made };
}

/** A handler of the type got its input. During a pause that proves nothing: it came before, to a host that was warm. */
export function begunAgain(
  pauses: Pauses,
  type: string,
  now: number,
): { readonly pauses: Pauses; readonly over: readonly string[] } {
  return without(pauses, [everyType, type], (pause) => {
    return pause.endedBy === 'begin' && now >= pause.until;
  });
}

/** A handler of the type ended for no reason of this host: that is worth more than any failure before it. */
export function endedWell(
  pauses: Pauses,
  type: string,
): { readonly pauses: Pauses; readonly over: readonly string[] } {
  return without(pauses, [type], (pause) => pause.endedBy === 'outcome');
}

function without(pauses: Pauses, names: readonly string[], ends: (pause: Pause) => boolean) {
  const over = names.filter((name) => {
    const pause = pauses.get(name);
    return pause !== undefined && ends(pause);
  });
  if (over.length === 0) return { pauses, over };
  return { pauses: new Map([...pauses].filter(([name]) => !over.includes(name))), over };
}

/** Failures in a row for reasons of this host, by `typeKey`. */
export type HostFailures = ReadonlyMap<string, Row>;

interface Row {
  readonly failures: number;
  /** The first task of the row, and whether another one failed as well. */
  readonly task: string;
  readonly several: boolean;
}

/**
 * One more. `pause`: there are enough of them, of more than one task: a task that fails on every host must not pause its
 * type everywhere by itself. The row begins anew then.
 */
export function failedHere(
  rows: HostFailures,
  type: string,
  taskId: string,
): { readonly rows: HostFailures; readonly pause: boolean } {
  const before = rows.get(type) ?? { failures: 0, task: taskId, several: false };
  const failures = before.failures + 1;
  const several = before.several || before.task !== taskId;
  const pause = several && failures >= workerDefaults.hostFailures;
  const next = new Map(rows);
  if (pause) next.delete(type);
  else next.set(type, { ...before, failures, several });
  return { rows: next, pause };
}

/** An attempt that is here, as far as trials go. */
export interface Here {
  /** A `typeKey`. */
  readonly type: string;
  readonly begun: boolean;
  /** When its claim was sent, by the clock. */
  readonly claimedAt: number;
}

/** For how many attempts of the type a claim may ask now: a trial waits for the one before. */
export function slotsFor(
  pauses: Pauses,
  type: string,
  claimable: number,
  here: readonly Here[],
  now: number,
): number {
  const all = pauses.get(everyType);
  const own = pauses.get(type);
  if ((all && now < all.until) || (own && now < own.until)) return 0;
  if (all && here.some(({ begun }) => !begun)) return 0;
  if (own && here.some((one) => one.type === type && onTrial(own, one))) return 0;
  return all || own ? Math.min(1, claimable) : claimable;
}

/** What was claimed before a pause because of failures and still runs is no trial: it may run for hours. */
function onTrial({ endedBy, until }: Pause, { begun, claimedAt }: Here): boolean {
  return endedBy === 'begin' ? !begun : claimedAt >= until;
}

/** When the next pause runs out that ends after that; Infinity if none does. */
export function nextTrial(pauses: Pauses, after: number): number {
  return Math.min(
    Number.POSITIVE_INFINITY,
    ...[...pauses.values()].map(({ until }) => until).filter((until) => until > after),
  );
}

/** Why nothing at all is claimed, in words. */
export function everyTypeInWords(pauses: Pauses, now: number): string | undefined {
  const all = pauses.get(everyType);
  return all && `every type ${pauseInWords(leftOf(all, now))}`;
}

/** Types that are paused by themselves, for presence. */
export function pausedTypes(
  pauses: Pauses,
  now: number,
  named: (key: string) => Pick<PausedType, 'type' | 'schemaVersion'>,
): PausedType[] {
  const all = pauses.get(everyType);
  return (
    [...pauses]
      // One reason, and not twice.
      .filter(([name, { why }]) => name !== everyType && why !== all?.why)
      .map(([name, pause]) => ({ ...named(name), ...leftOf(pause, now) }))
  );
}

function leftOf(pause: Pause, now: number): Pick<PausedType, 'forMs' | 'failures' | 'why'> {
  const { failures, why, until } = pause;
  return { forMs: Math.max(0, Math.ceil(until - now)), failures, why };
}

/** `is paused for 8 s: …`, `is tried again with its next task: …`. */
export function pauseInWords({
  forMs,
  failures,
  why,
}: Pick<PausedType, 'forMs' | 'failures' | 'why'>): string {
  const seconds = Math.max(1, Math.round(forMs / 1_000));
  const how = forMs > 0 ? `is paused for ${seconds} s` : 'is tried again with its next task';
  // Not the handlers' failures: each pause after the first is a trial that failed.
  const often = failures > 1 ? ` (${failures} pauses in a row)` : '';
  return `${how}${often}: ${why}`;
}
