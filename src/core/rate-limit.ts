import { rateDefaults } from './defaults.ts';

/** A token bucket: calls that may be made at once, filled again as time goes by. Pure; who keeps buckets says what time it is. */
export interface Bucket {
  readonly tokens: number;
  /** By a clock that does not run backwards. */
  readonly atMs: number;
}

export type Taken =
  | { readonly ok: true; readonly bucket: Bucket }
  /** Nothing was taken: who asks again too soon does not wait longer for it. */
  | { readonly ok: false; readonly bucket: Bucket; readonly retryAfterMs: number };

/** How many calls may come at once: ten seconds' worth, one at least. */
export function burstOf(perMinute: number): number {
  return Math.max(1, Math.floor((perMinute * rateDefaults.burstMs) / MINUTE_MS));
}

/** Takes one token. @param bucket `undefined`: it has not been used for long, and is full. */
export function takeToken(nowMs: number, bucket: Bucket | undefined, perMinute: number): Taken {
  const perMs = perMinute / MINUTE_MS;
  const tokens = filled(nowMs, bucket, perMinute);
  if (tokens >= 1 - ROUNDING) return { ok: true, bucket: { tokens: tokens - 1, atMs: nowMs } };
  return {
    ok: false,
    bucket: { tokens, atMs: nowMs },
    retryAfterMs: Math.max(1, Math.ceil((1 - tokens) / perMs)),
  };
}

/** A full bucket is the same as none. */
export function isFull(nowMs: number, bucket: Bucket, perMinute: number): boolean {
  return filled(nowMs, bucket, perMinute) >= burstOf(perMinute);
}

/** `Retry-After` in whole seconds, never too soon. */
export function retryAfterSeconds(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1_000));
}

function filled(nowMs: number, bucket: Bucket | undefined, perMinute: number): number {
  const burst = burstOf(perMinute);
  if (bucket === undefined) return burst;
  const since = Math.max(0, nowMs - bucket.atMs);
  return Math.min(burst, bucket.tokens + (since * perMinute) / MINUTE_MS);
}

const MINUTE_MS = 60_000;
/** Parts of a token are counted in doubles: what is a token but for their rounding is one. */
const ROUNDING = 1e-9;
