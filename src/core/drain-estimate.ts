/** How long a drain would take from now on, for people who wait for one. Pure. */
export interface DrainEstimate {
  /** Handlers are stopped so that it is over by then. */
  readonly atMostMs: number;
  /** By how long handlers of these types took before; absent where nobody knows. */
  readonly likelyMs?: number;
}

export interface RunningNow {
  readonly runningMs: number;
  /** Of handlers of its type that ended here; absent where none has. */
  readonly typicalMs?: number | undefined;
}

/** @param atMostMs until the deadline. */
export function estimateDrain(running: readonly RunningNow[], atMostMs: number): DrainEstimate {
  const bound = Math.max(0, Math.round(atMostMs));
  let likelyMs = 0;
  for (const { runningMs, typicalMs } of running) {
    // One that already takes longer than usual may take any time.
    if (typicalMs === undefined || runningMs > typicalMs) return { atMostMs: bound };
    likelyMs = Math.max(likelyMs, typicalMs - runningMs);
  }
  return { atMostMs: bound, likelyMs: Math.min(bound, Math.round(likelyMs)) };
}
