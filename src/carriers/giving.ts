import { hostDefaults } from '../core/defaults.ts';
import type { JobListener } from '../ports/carrier.ts';
import type { Clock } from '../ports/clock.ts';

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
  const enough = new AbortController();
  const waited = clock.sleep(hostDefaults.givingMs, enough.signal);
  return Promise.race([told, waited]).then(() => enough.abort());
}
