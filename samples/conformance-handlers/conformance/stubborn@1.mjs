/** conformance/stubborn@1: sleeps for `ms` milliseconds and hears no stop. */
import { setTimeout as sleep } from 'node:timers/promises';

export const effectSafety = 'pure';

export default async function stubborn({ ms }) {
  await sleep(ms);
  return { slept: ms };
}
