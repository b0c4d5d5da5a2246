import type { Clock } from '../ports/clock.ts';

/**
 * Whole milliseconds since 1970 that go on evenly while the process lives: the wall clock at the start plus
 * the monotonic time since. A clock that is set back or forth meanwhile ends no lease and prolongs none.
 */
export function steadyNow(clock: Clock): () => number {
  const wall = clock.wall();
  const began = clock.now();
  let last = 0;
  return () => {
    last = Math.max(last, Math.floor(wall + (clock.now() - began)));
    return last;
  };
}
