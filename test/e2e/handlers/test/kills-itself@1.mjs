import { setTimeout as sleep } from 'node:timers/promises';

export const effectSafety = 'pure';

/** Ends its host as the system would. */
export default async ({ afterMs = 0 }) => {
  await sleep(afterMs);
  process.kill(process.pid, 'SIGKILL');
  await sleep(60_000);
};
