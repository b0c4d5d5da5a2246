/** Delays that grow, bounded and jittered. Pure: chance is an argument. */

export interface Backoff {
  readonly initialMs: number;
  readonly factor: number;
  readonly maxMs: number;
  /** Share by which a delay is varied either way. */
  readonly jitter: number;
}

/**
 * `initialMs × factor^(n − 1)`, at most `maxMs`, then × (1 ± jitter). @param n 1 for the first delay.
 * @param fraction in [0, 1): 0.5 is no jitter.
 */
export function backoffMs(backoff: Backoff, n: number, fraction: number): number {
  // The power may be infinite, and 0 times that is no number.
  const grown =
    backoff.initialMs === 0 ? 0 : backoff.initialMs * backoff.factor ** Math.max(0, n - 1);
  return Math.max(0, jittered(Math.min(grown, backoff.maxMs), backoff.jitter, fraction));
}

/** `ms × (1 ± share)`. */
export function jittered(ms: number, share: number, fraction: number): number {
  return ms * (1 + share * (2 * fraction - 1));
}
