import { setTimeout as sleep } from 'node:timers/promises';

export const effectSafety = 'non-idempotent';

/** The same past its gate. */
export default async (_, ctx) => {
  ctx.progress(30, 'half of it sent');
  await sleep(1_500);
  process.kill(process.pid, 'SIGKILL');
  await sleep(60_000);
};
