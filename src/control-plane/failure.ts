import { TaskError } from '../contract/errors.ts';
import { type Refusal, refusal } from './answer.ts';
import type { Services } from './services.ts';

/** A throw becomes an answer: what went wrong inside goes to the log only, found by the request id. */
export function failure(
  { log, store }: Pick<Services, 'log' | 'store'>,
  requestId: string,
  what: string,
  error: unknown,
): Refusal {
  // Told once, where it was found.
  if (store.lost)
    return refusal(
      'UNAVAILABLE',
      'The files of its database were taken away from the control plane: it keeps nothing and answers nothing until somebody has looked. Its log says what was lost and what to do.',
      { retryAfterMs: LOST_RETRY_MS },
      { 'Retry-After': String(LOST_RETRY_MS / 1_000) },
    );
  if (error instanceof TaskError && error.code === 'UNAVAILABLE') {
    log.warn('request.unavailable', `${what} could not be answered: ${error.message}`, {
      requestId,
      error,
    });
    return refusal(
      'UNAVAILABLE',
      'The control plane cannot keep anything now; nothing of this call was kept.',
      { retryAfterMs: 1_000 },
      { 'Retry-After': '1' },
    );
  }
  log.error('request.failed', `${what} failed.`, { requestId, error });
  return refusal('INTERNAL', `${what} failed inside the control plane.`);
}

/** A person has to act first. */
const LOST_RETRY_MS = 5_000;
