import { access, appendFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

export const effectSafety = 'non-idempotent';

/** Appends a line, then waits for the file `until`. */
export default async ({ file, line, until }) => {
  await appendFile(file, `${line}\n`);
  for (;;) {
    const there = await access(until).then(
      () => true,
      () => false,
    );
    if (there) return { line };
    await sleep(10);
  }
};
