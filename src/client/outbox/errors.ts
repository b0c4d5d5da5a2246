import { TaskError } from '../../contract/index.ts';
import { causeCode } from '../../spool/errors.ts';

/** Codes of the outbox's errors. With each of them nothing was stored. */
export type OutboxErrorCode =
  | 'OUTBOX_FULL'
  | 'OUTBOX_UNWRITABLE'
  | 'OUTBOX_UNREADABLE'
  | 'OUTBOX_UNSAFE'
  | 'OUTBOX_CLOSED';

const NEXT: Record<OutboxErrorCode, string> = {
  OUTBOX_FULL: 'See what waits and why: interlock tasks outbox list.',
  OUTBOX_UNWRITABLE:
    'Give a folder that this user may write, on a disk with free space (--outbox).',
  OUTBOX_UNREADABLE: 'Check the owner and the mode of the folder, and the limit of open files.',
  OUTBOX_UNSAFE: 'Give a folder that is not there yet (--outbox): it is made for its user alone.',
  OUTBOX_CLOSED: 'Make another producer; what is stored is sent by the next one with this outbox.',
};

const REASONS: Record<string, string> = {
  ENOSPC: 'The disk is full: free some space, or give another folder (--outbox).',
  EDQUOT: 'The disk quota is used up: free some space, or give another folder (--outbox).',
  EROFS: 'The file system is read-only: mount it writable, or give another folder (--outbox).',
  EMFILE: 'Too many files are open: raise the limit (ulimit -n).',
  ENOENT:
    'The folder was removed, and something keeps it from being made anew: see who cleans up there, or give another folder (--outbox).',
  EIO: 'The disk reports an error: check its health.',
};

export function outboxError(
  code: OutboxErrorCode,
  message: string,
  more: { cause?: unknown; details?: Record<string, unknown> } = {},
): TaskError {
  const reason = causeCode(more.cause);
  return new TaskError(code, message, {
    retryable: code === 'OUTBOX_FULL' || code === 'OUTBOX_UNWRITABLE',
    hint: REASONS[reason ?? ''] ?? NEXT[code],
    cause: more.cause,
    details: { ...more.details, ...(reason && { reason }) },
  });
}

/** The disk's refusal in words; a bug, which has no code of the system, stays what it is. */
export function diskError(code: OutboxErrorCode, what: string, cause: unknown): unknown {
  const reason = causeCode(cause);
  if (reason === undefined || cause instanceof TaskError) return cause;
  return outboxError(code, `${what} (${reason}).`, { cause });
}
