/** How a worker lets its claims wait at the control plane (ADR 15); see `defaults.ts`. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

export const claimWaitDefaults = {
  /** A claim of an idle worker waits so long: proxies let a call take 30 s and more. */
  waitMs: 20 * SECOND,
  /** No claim waits for so long after one that got no answer: what stands between may not let a call wait. */
  retry: { initialMs: 5 * SECOND, factor: 4, maxMs: 10 * MINUTE, jitter: 0.2 },
  /** A drain waits so long for the word that ends a wait: nothing is held here, and supervisors kill after 10 s. */
  lastWordMs: 3 * SECOND,
} as const;
