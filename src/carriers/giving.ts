import { hostDefaults } from '../core/defaults.ts';
import type { JobListener } from '../ports/carrier.ts';
import type { Clock } from '../ports/clock.ts';
import { SameWait } from './same-wait.ts';

/** By clock: one timer for all that wait. Nearly none waits for as long as it takes. */
const late = new WeakMap<Clock, SameWait<() => void>>();

/**
 * Before a job is given to a handler whose first line may end this very program: then only what is on disk tells that it
 * began. A disk that is slow holds up no job for longer than `hostDefaults.givingMs`.
 *
 * @returns `undefined` where there is nothing to wait for.
 */
export function giving(
  listener: JobListener,
  clock: Clock,
  host?: string,
): Promise<void> | undefined {
  const told = listener.giving?.(host);
  if (told === undefined) return undefined;
  const waits = late.get(clock) ?? new SameWait(clock, hostDefaults.givingMs, (go) => go());
  late.set(clock, waits);
  return new Promise((resolve) => {
    const go = () => {
      waits.delete(go);
      resolve();
    };
    waits.add(go);
    void told.then(go);
  });
}
