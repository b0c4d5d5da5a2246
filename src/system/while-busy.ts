import { setTimeout as wait } from 'node:timers/promises';

/**
 * On Windows a file that any process holds open (a virus scanner, an indexer, a reader) can be neither
 * replaced nor removed for that moment. The same call is tried again for about two seconds, then its error
 * stands: nothing is ever truncated in place instead. Elsewhere these codes are lasting and thrown at once.
 */
export async function whileBusy<T>(platform: NodeJS.Platform, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? '';
      if (platform !== 'win32' || !BUSY.has(code) || tries >= TRIES) throw error;
      await wait(Math.min(FIRST_WAIT_MS * 2 ** tries, LONGEST_WAIT_MS));
    }
  }
}

const BUSY = new Set(['EPERM', 'EACCES', 'EBUSY']);
/** 10 + 20 + 40 + … + 9 × 200 ms: longer than a scanner looks at a small file. */
const TRIES = 14;
const FIRST_WAIT_MS = 5;
const LONGEST_WAIT_MS = 200;
