/** conformance/sleep@1: sleeps for `ms` milliseconds. Obeys a stop. */
import { setTimeout as sleep } from 'node:timers/promises';

export const effectSafety = 'pure';

export default async function sleeping({ ms }, { signal }) {
  await sleep(ms, undefined, { signal });
  return { slept: ms };
}
