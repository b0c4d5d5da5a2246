/** conformance/progress@1: tells its progress `steps` times, `everyMs` milliseconds apart, and logs a line each time. */
import { setTimeout as sleep } from 'node:timers/promises';

export const effectSafety = 'pure';

export default async function progress({ steps, everyMs = 100 }, ctx) {
  for (let step = 1; step <= steps; step++) {
    ctx.progress((100 * step) / steps, `step ${step}`, { step });
    ctx.log(`step ${step}`);
    await sleep(everyMs, undefined, { signal: ctx.signal });
  }
  return { steps };
}
