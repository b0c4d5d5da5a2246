import { workerDefaults } from './defaults.ts';

/** When to ask for work next, when nothing else wakes the claim loop. */
export interface Polling {
  /** Empty answers in a row. */
  readonly idle: number;
  /** The last answer brought all that was asked for: there may be more. */
  readonly full?: true;
}

export const firstPoll: Polling = { idle: 0 };

/** After many empty answers: the longest pauses. */
export const slowest: Polling = { idle: 100 };

export interface PollFacts {
  readonly granted: number;
  readonly asked: number;
  /** At the control plane, for work. */
  readonly waitedMs?: number;
}

export function afterClaim(
  polling: Polling,
  facts: PollFacts,
): { readonly polling: Polling; readonly atOnce: boolean } {
  if (facts.granted >= facts.asked && facts.granted > 0)
    return { polling: { ...firstPoll, full: true }, atOnce: true };
  if (facts.granted > 0) return { polling: firstPoll, atOnce: false };
  // It waited there, and need not here.
  if ((facts.waitedMs ?? 0) >= workerDefaults.pollMinMs)
    return { polling: firstPoll, atOnce: false };
  return { polling: { idle: polling.idle + 1 }, atOnce: false };
}

/**
 * 1 s, 2 s, 4 s … up to `maxMs` while hints work, up to 5 s while they do not, shortened by chance (a bound is a
 * bound); never sooner than the control plane wishes (`pollAfterMs`, at most 2 min). @param fraction in [0, 1).
 */
export function pollDelayMs(
  polling: Polling,
  facts: { readonly hintsWork: boolean; readonly pollAfterMs: number; readonly maxMs?: number },
  fraction: number,
): number {
  const own = facts.maxMs ?? workerDefaults.pollMaxMs;
  const max = facts.hintsWork ? own : Math.min(own, workerDefaults.pollMaxWithoutHintsMs);
  const doublings = Math.min(Math.max(0, polling.idle - 1), 20);
  const grown = Math.min(workerDefaults.pollMinMs * 2 ** doublings, max);
  const wish = Math.min(Math.max(0, facts.pollAfterMs), workerDefaults.pollAfterMaxMs);
  return Math.max(grown * (1 - workerDefaults.pollJitter * fraction), wish);
}
