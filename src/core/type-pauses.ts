import { backoffMs } from './backoff.ts';
import { workerDefaults } from './defaults.ts';

/**
 * Types that this worker leaves alone for a while, because their handlers could not be started here: a claim would only
 * use up the task's tries. A pause that has run out becomes a trial: one attempt at a time, until one begins. Pure.
 */
export interface Pause {
  /** Trials in a row that failed. */
  readonly failures: number;
  /** By the clock; from then on it is a trial. */
  readonly until: number;
  /** How long it was made, for words. */
  readonly forMs: number;
  readonly why: string;
}

/** By `typeKey`, and `everyType`. Another cause that pauses a type goes the same way through `pausedBy`. */
export type Pauses = ReadonlyMap<string, Pause>;

export const noPauses: Pauses = new Map();

/** The host as a whole is in trouble. No `typeKey` looks like that. */
export const everyType = '*';

/**
 * @param code of the `not-begun`: `HOST_NOT_STARTED` means that no process can be started, which pauses every type; and
 * this one by itself, since another type's warm host proves nothing for it. @param fraction in [0, 1).
 */
export function pausedBy(
  pauses: Pauses,
  trouble: { readonly type: string; readonly code: string; readonly why: string },
  now: number,
  fraction: number,
): { readonly pauses: Pauses; readonly made: readonly string[] } {
  const next = new Map(pauses);
  const made: string[] = [];
  const names = trouble.code === 'HOST_NOT_STARTED' ? [everyType, trouble.type] : [trouble.type];
  for (const name of names) {
    const before = pauses.get(name);
    // Of the same claim as the one that made the pause: no trial has failed since.
    if (before !== undefined && now < before.until) continue;
    const failures = (before?.failures ?? 0) + 1;
    const { typePause } = workerDefaults;
    const forMs = Math.min(backoffMs(typePause, failures, fraction), typePause.maxMs);
    next.set(name, { failures, until: now + forMs, forMs, why: trouble.why });
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
  const over = [everyType, type].filter((name) => {
    const pause = pauses.get(name);
    return pause !== undefined && now >= pause.until;
  });
  return { pauses: new Map([...pauses].filter(([name]) => !over.includes(name))), over };
}

/**
 * For how many attempts of the type a claim may ask now. @param unbegun types of the attempts that are here and have
 * not begun, one each: a trial waits for the one before.
 */
export function slotsFor(
  pauses: Pauses,
  type: string,
  claimable: number,
  unbegun: readonly string[],
  now: number,
): number {
  const all = pauses.get(everyType);
  const own = pauses.get(type);
  if ((all && now < all.until) || (own && now < own.until)) return 0;
  if (all && unbegun.length > 0) return 0;
  if (own && unbegun.includes(type)) return 0;
  return all || own ? Math.min(1, claimable) : claimable;
}

/** When the next pause runs out that ends after that; Infinity if none does. */
export function nextTrial(pauses: Pauses, after: number): number {
  return Math.min(
    Number.POSITIVE_INFINITY,
    ...[...pauses.values()].map(({ until }) => until).filter((until) => until > after),
  );
}

/** In words, `undefined` if nothing is paused. The same until a pause ends or begins, so that it is told once. */
export function pausesInWords(pauses: Pauses, now: number): string | undefined {
  const all = pauses.get(everyType);
  // One reason, and not twice: types that are paused by themselves come after it.
  const told = all
    ? [...pauses].filter(([name, { why }]) => name === everyType || why !== all.why)
    : [...pauses];
  if (told.length === 0) return undefined;
  return told.map(([name, pause]) => pauseInWords(name, pause, now)).join('; ');
}

export function pauseInWords(name: string, pause: Pause, now: number): string {
  const what = name === everyType ? 'every type' : name;
  const whose =
    name === everyType ? 'no handler could be started' : 'its handler could not be started';
  const seconds = Math.max(1, Math.round(pause.forMs / 1_000));
  const how =
    now < pause.until ? `is paused for ${seconds} s` : 'is tried again with its next task';
  const often = pause.failures > 1 ? ` (${pause.failures} times in a row)` : '';
  return `${what} ${how}: ${whose}${often}: ${pause.why}`;
}
