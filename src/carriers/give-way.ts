import { readFile, writeFile } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';
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
    setPriority(pid, nicerThan(getPriority()));
  } catch {
    return; // It is gone, or may not be touched.
  }
  if (process.platform !== 'linux') return;
  const nice = nicerThan(await ownGroupNice());
  for (let tries = 0; tries < TRIES; tries++) {
    try {
      await writeFile(`/proc/${pid}/autogroup`, String(nice));
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
      await clock.sleep(WAIT_MS);
    }
  }
}

/** An agent that itself gives way to others, a service at nice 15 for example, still comes before its hosts. */
export function nicerThan(own: number): number {
  return Math.min(NICEST, own + hostDefaults.nice);
}

/** Of the session that the agent runs in: `/autogroup-42 nice 0`. Zero where nobody tells. */
async function ownGroupNice(): Promise<number> {
  const text = await readFile('/proc/self/autogroup', 'utf8').catch(() => '');
  return Number(/nice (-?\d+)/.exec(text)?.[1] ?? 0);
}

const NICEST = 19;
/** Longer than the kernel's tenth of a second, so that one of many is let through each time. */
const WAIT_MS = 110;
/** Enough for a hundred hosts that start at once. */
const TRIES = 100;
