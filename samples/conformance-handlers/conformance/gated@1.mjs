/**
 * conformance/gated@1: sleeps for `beforeMs` milliseconds, asks for its gate, appends a line, sleeps for `ms`. Its gate is
 * the effect.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { append } from '../append.mjs';

export const effectSafety = 'non-idempotent';
export const effectGate = 'effect';

export default async function gated({ line, beforeMs = 0, ms = 0 }, ctx) {
  await sleep(beforeMs, undefined, { signal: ctx.signal });
  await ctx.beginEffect();
  append(ctx.effectKey, line);
  await sleep(ms, undefined, { signal: ctx.signal });
  return { line };
}
