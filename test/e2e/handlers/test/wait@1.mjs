import { access, appendFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

export const effectSafety = 'pure';

/**
 * Writes a line to `began`, then waits for the file `until`. Obeys a stop only with `obeys`; then it says what
 * it was told.
 */
export default async ({ began, until, obeys }, { signal }) => {
  await appendFile(began, `${process.pid}\n`);
  for (;;) {
    if (obeys && signal.aborted) return { stopped: signal.reason.code };
    const there = await access(until).then(
      () => true,
      () => false,
    );
    if (there) return { waited: true };
    await sleep(10);
  }
};
