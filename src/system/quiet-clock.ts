import type { Clock } from '../ports/clock.ts';
import { systemClock } from './clock.ts';

/**
 * The machine's clock for what goes on beside a program: its timers do not keep the process alive. A program that has
 * nothing else to do ends, and what was waited for is left to the next one.
 */
export function quietClock(): Clock {
  const clock = systemClock();
  const timer: Clock['timer'] = (ms, fire) => {
    const handle = setTimeout(fire, Math.min(Math.max(0, ms || 0), LONGEST_MS));
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  };
  return {
    now: () => clock.now(),
    wall: () => clock.wall(),
    timer,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve(false);
        const aborted = () => {
          waiting.cancel();
          resolve(false);
        };
        const waiting = timer(ms, () => {
          signal?.removeEventListener('abort', aborted);
          resolve(true);
        });
        signal?.addEventListener('abort', aborted, { once: true });
      }),
  };
}

/** Node fires at once above 2³¹ ms. What goes on in the background looks again far sooner than after this. */
const LONGEST_MS = 24 * 3_600_000;
