/** conformance/echo@1: gives its input back, after `ms` milliseconds if the input says so. Obeys a stop. */
import { setTimeout as sleep } from 'node:timers/promises';

export const effectSafety = 'idempotent';

export default async function echo(input, { signal }) {
  await sleep(input?.ms ?? 0, undefined, { signal });
  return input;
}
