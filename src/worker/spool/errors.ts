import { TaskError } from '../../contract/index.ts';
import type { Loss } from './lock-keeper.ts';

/** Codes of the spool's errors, what they mean and what to do. */
export const spoolErrorCodes = {
  SPOOL_LOCKED: {
    title: 'Another worker holds the spool',
    next: 'Stop that worker, or give this one a spool of its own: each worker needs one (`--spool`).',
  },
  SPOOL_UNWRITABLE: {
    title: 'The spool folder cannot be made or written',
    next: 'Give the worker a folder that it may write, on a disk with free space (`--spool`).',
  },
  SPOOL_UNSAFE: {
    title: 'Other users could read or change the spool',
    next: 'Give the worker a folder of its own that is not there yet (`--spool`): it is made for its user alone.',
  },
  SPOOL_UNREADABLE: {
    title: 'The spool folder cannot be read',
    next: 'Check the owner and the mode of the folder, and the limit of open files.',
  },
  SPOOL_WRITE_FAILED: {
    title: 'A record could not be written to the spool',
    next: 'It is tried again by itself; see the system’s reason.',
  },
  SPOOL_LOST: {
    title: 'The spool is no longer this worker’s: taken over, removed or moved',
    next: 'Start the worker again; it will wait for, or be refused by, a new holder.',
  },
  SPOOL_CLOSED: {
    title: 'The spool was closed',
    next: 'Nothing can be written after `close`.',
  },
} as const satisfies Record<string, { title: string; next: string }>;

export type SpoolErrorCode = keyof typeof spoolErrorCodes;

export function spoolError(
  code: SpoolErrorCode,
  message: string,
  more: { cause?: unknown; hint?: string; details?: Record<string, unknown> } = {},
): TaskError {
  const reason = causeCode(more.cause);
  return new TaskError(code, message, {
    retryable: code === 'SPOOL_WRITE_FAILED' || code === 'SPOOL_LOCKED',
    hint: more.hint ?? REMEDIES[reason ?? ''] ?? spoolErrorCodes[code].next,
    cause: more.cause,
    details: { ...more.details, ...(reason && { reason }) },
  });
}

/** What became of a spool that was lost, and the next step. @param why how it showed. */
export function lossInWords(loss: Loss, folder: string, why: string): string {
  switch (loss) {
    case 'taken':
      return `The spool ${folder} was lost to another process (${why}). Give each worker a spool of its own (--spool).`;
    case 'gone':
      return `The spool ${folder} was removed or moved while it was in use (${why}). If it was moved, put it back before the next start: the reports in it are not sent yet. If it was removed, a new start makes an empty one.`;
    case 'unreachable':
      return `The lock of the spool ${folder} was lost and cannot be taken again (${why}). Check the disk, the owner and the mode of the folder, then start the worker again.`;
  }
}

/** The system's code (`ENOSPC` …) of an error. */
export function causeCode(cause: unknown): string | undefined {
  const code = (cause as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** What a person can do about the system's reason. */
const REMEDIES: Record<string, string> = {
  ENOSPC: 'The disk is full: free some space; the worker goes on by itself.',
  EDQUOT: 'The disk quota is used up: free some space; the worker goes on by itself.',
  EROFS: 'The file system is read-only: mount it writable, or give another folder (`--spool`).',
  EACCES: 'Permission is denied: check the owner and the mode of the folder.',
  EPERM: 'Permission is denied: check the owner and the mode of the folder.',
  EMFILE: 'Too many files are open: raise the limit (`ulimit -n`).',
  ENFILE: 'Too many files are open on this machine: raise the system’s limit.',
  EIO: 'The disk reports an error: check its health; copy the spool elsewhere.',
  ENOENT:
    'The folder is gone: if it was moved, put it back; if it was removed, start the worker again.',
  ENOTDIR: 'A part of the path is a file: give another folder (`--spool`).',
};
