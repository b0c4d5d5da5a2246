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
      LOST[store.lost],
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

const LOST = {
  files:
    'The files of its database were taken away from the control plane: it keeps nothing and answers nothing more. Its log says what was lost and what to do before it is started anew.',
  disk: 'The disk of the control plane could not keep what was written: it keeps nothing and answers nothing more. What it acknowledged before is on the disk. Look at that disk (failing, full, its network away) and start the control plane anew; what was asked last, ask again.',
} as const;
/** A person has to act first. */
const LOST_RETRY_MS = 5_000;
