import type { SpoolEntry } from '../spool/index.ts';

/**
 * Whether a report that was refused can no longer be delivered: the small one that went out in its place (`RESULT_REFUSED`
 * for a result) lies nowhere any more, so it was taken, and what comes after it comes too late.
 * @param all that lies in the spool.
 */
export function isPastHelp(entry: SpoolEntry, all: readonly SpoolEntry[]): boolean {
  const { answer, attemptId, followUp, line, op, state } = entry;
  if (state !== 'refused' || line !== undefined || attemptId === undefined || followUp)
    return false;
  // Nothing goes out in the place of a loss that contradicts what is known there.
  if (op === 'lost' && answer?.status === 409) return false;
  return !all.some(
    (other) =>
      other !== entry &&
      other.attemptId === attemptId &&
      (other.state === 'owed' || (other.state === 'refused' && other.followUp === true)),
  );
}

/** What its task was told instead. */
export function toldInstead({ op }: SpoolEntry): string {
  return op === 'complete' || op === 'fail'
    ? 'its task has ended with RESULT_REFUSED'
    : 'its task was told the same without details';
}
