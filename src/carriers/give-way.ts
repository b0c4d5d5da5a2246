import { writeFile } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { hostDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';

/**
 * Lets the processes of a host give way to the agent: handlers that take every core must not starve the renewals of
 * their own leases. Asked for, not needed: where the system refuses, hosts run like any other process.
 *
 * Linux shares the processor between sessions first (autogroups), and a host leads one of its own, so its share is set
 * there as well. The kernel takes ten such wishes a second of all programs together: what is refused is asked again.
 */
export async function giveWay(pid: number, clock: Clock): Promise<void> {
  try {
    setPriority(pid, hostDefaults.nice);
  } catch {
    return; // It is gone, or may not be touched.
  }
  if (process.platform !== 'linux') return;
  for (let tries = 0; tries < TRIES; tries++) {
    try {
      await writeFile(`/proc/${pid}/autogroup`, String(hostDefaults.nice));
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
      await clock.sleep(WAIT_MS);
    }
  }
}

/** Longer than the kernel's tenth of a second, so that one of many is let through each time. */
const WAIT_MS = 110;
/** Enough for a hundred hosts that start at once. */
const TRIES = 100;
