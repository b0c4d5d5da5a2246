import type { Problem } from '../contract/index.ts';
import { type Backoff, backoffMs } from '../core/backoff.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { Answer } from '../ports/transport.ts';

/** What the refusal of a call means where its own code does not say it. */

/**
 * "Not with this key, not at this address" (401, 403, 426, a 404): kept and asked again, never a verdict. The 404 that is
 * about an attempt of our own project is one: that attempt is not known there.
 */
export function refusesKey(
  { status, problem }: { readonly status: number; readonly problem: Problem },
  project?: string,
): boolean {
  if (status === 401 || status === 403 || status === 426) return true;
  if (status !== 404) return false;
  const ours = project !== undefined && problem.project === project;
  return !(ours && problem.code === 'NOT_FOUND' && problem.kind === 'attempt');
}

/** The first presence of a worker is refused for its key: with that it does not start. */
export function endsStart<T>(answer: Answer<T>): answer is Extract<Answer<T>, { kind: 'refused' }> {
  return answer.kind === 'refused' && (answer.status === 401 || answer.status === 403);
}

/** A batch or a claim that is not taken as it stands, whatever is in it: no JSON, too many, too large. */
export function refusesWhole(status: number): boolean {
  return status === 400 || status === 413 || status === 415 || status === 422;
}

/** Of a `403 SCOPE_DENIED` for what a key is limited to (section 9). */
export interface KeyLimit {
  readonly limit: 'workerIdPrefix' | 'pools' | 'types';
  readonly allowed: readonly string[];
}

export function limitOf({ limit, allowed }: Problem): { beyond?: KeyLimit } {
  if (limit !== 'workerIdPrefix' && limit !== 'pools' && limit !== 'types') return {};
  if (!Array.isArray(allowed) || !allowed.every((one) => typeof one === 'string')) return {};
  return { beyond: { limit, allowed } };
}

/** After such a refusal: at most 60 s apart, chance included. */
export const keyRetry: Backoff = {
  ...workerDefaults.retry,
  maxMs: workerDefaults.refusedKeyRetryMaxMs / (1 + workerDefaults.retry.jitter),
};

/** Busy or broken for now: asked again later. */
export function isBusy(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

/** How long until it is asked again: never sooner than the peer asked for; chance only lengthens that. */
export function pauseMs(
  backoff: Backoff,
  failures: number,
  fraction: number,
  retryAfterMs: number | undefined,
): number {
  const asked = (retryAfterMs ?? 0) * (1 + RETRY_AFTER_JITTER * fraction);
  return Math.max(backoffMs(backoff, failures, fraction), asked);
}

/** So that all who were told the same time do not come back together. */
const RETRY_AFTER_JITTER = 0.1;
