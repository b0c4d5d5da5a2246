/** conformance/effect@1: appends a line, then sleeps for `ms` milliseconds. Its gate is the start. */
import { setTimeout as sleep } from 'node:timers/promises';
import { append } from '../append.mjs';

export const effectSafety = 'non-idempotent';

export default async function effect({ line, ms = 0 }, { effectKey, signal }) {
  append(effectKey, line);
  await sleep(ms, undefined, { signal });
  return { line };
}
