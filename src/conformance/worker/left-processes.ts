/** What a worker leaves behind outside its process group, told by its environment. */
import { readdir, readFile } from 'node:fs/promises';
import type { Clock } from '../../ports/clock.ts';

/** A process that is forked while one looks is seen the next time. */
const LOOKS = 20;
const LOOK_MS = 50;

/** Ids of processes with this variable in their environment (`NAME=value`); of Linux alone, else none. */
export async function processesWith(variable: string): Promise<number[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const text = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
      return text.split('\0').includes(variable) ? [Number(pid)] : [];
    }),
  );
  return found.flat();
}

/** Ends them all, also what they start meanwhile. Never rejects. */
export async function endProcessesWith(variable: string, clock: Clock): Promise<void> {
  for (let look = 0; look < LOOKS; look++) {
    const pids = await processesWith(variable);
    if (pids.length === 0) return;
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has gone.
      }
    }
    await clock.sleep(LOOK_MS);
  }
}
