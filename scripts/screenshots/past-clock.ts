import type { Clock } from '../../src/ports/clock.ts';

/** A clock that can stand in the past and go on from there: an hour of a control plane is made in seconds. It never goes back. */
export interface PastClock extends Clock {
  /** From now on it shows the time of so long ago. */
  to(agoMs: number): void;
}

export function pastClock(real: Clock, agoMs: number): PastClock {
  let behindMs = agoMs;
  return {
    now: () => real.now() - behindMs,
    wall: () => real.wall() - behindMs,
    sleep: (ms, signal) => real.sleep(ms, signal),
    timer: (ms, fire) => real.timer(ms, fire),
    to(ms) {
      behindMs = Math.min(behindMs, ms);
    },
  };
}
