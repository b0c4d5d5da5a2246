import { TaskError } from '../contract/index.ts';
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
    title: 'Other users could read or change the spool, or its folder holds other things',
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
  SPOOL_READ_FAILED: {
    title: 'A record could not be read back from the spool',
    next: 'It stays as it is; the next start puts what is damaged into `corrupt` and says so.',
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
  const remedy = REMEDIES[reason ?? ''];
  const runs = code === 'SPOOL_WRITE_FAILED' ? ` ${BY_ITSELF}` : '';
  return new TaskError(code, message, {
    retryable: code === 'SPOOL_WRITE_FAILED' || code === 'SPOOL_LOCKED',
    hint: more.hint ?? (remedy === undefined ? spoolErrorCodes[code].next : remedy + runs),
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

/** Why nothing more can be written, with the next step: what presence, `workers` and doctor show. */
export function troubleInWords(folder: string, cause: unknown): string {
  const reason = causeCode(cause);
  const remedy = REMEDIES[reason ?? ''];
  const words = `the spool ${folder} cannot be written (${reason ?? (cause as Error).message})`;
  return remedy === undefined ? words : `${words}. ${remedy} ${BY_ITSELF}`;
}

/** The disk, or what this user may have of it, is full. */
export function isNoRoom(cause: unknown): boolean {
  const code = causeCode(cause);
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** The system's code (`ENOSPC` …) of an error. */
export function causeCode(cause: unknown): string | undefined {
  const code = (cause as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** What a person can do about the system's reason. */
const REMEDIES: Record<string, string> = {
  ENOSPC: 'The disk is full: free some space (5 MB at least).',
  EDQUOT: 'The disk quota is used up: free some space (5 MB at least).',
  EROFS:
    'The file system is read-only (the system’s log says why): mount it writable, or give another folder (`--spool`).',
  EACCES: 'Permission is denied: check the owner and the mode of the folder.',
  EPERM: 'Permission is denied: check the owner and the mode of the folder.',
  EMFILE:
    'This process has too many files open: raise its limit (`ulimit -n`, or `LimitNOFILE=` of its service).',
  ENFILE: 'Too many files are open on this machine: raise the system’s limit (`fs.file-max`).',
  EIO: 'The disk reports an error: see the system’s log, check its health, and copy the spool elsewhere.',
  EEXIST: 'Something else lies where the spool keeps a file of its own: move it away.',
  ENOENT:
    'The folder is gone: if it was moved, put it back; if it was removed, start the worker again.',
  ENOTDIR: 'A part of the path is a file: give another folder (`--spool`).',
  EBUSY:
    'Something holds a file of the spool in its place, a mount of that single file for example: mount the whole folder instead.',
  EXDEV:
    'The folder is put together from several file systems: give one that lies on a single one (`--spool`).',
};

/** For a person's command: nothing goes on by itself. `undefined`: there is no more to say than the reason. */
export function remedyOf(reason: string): string | undefined {
  return REMEDIES[reason];
}

/** Of a worker that runs: nobody has to start it again. */
const BY_ITSELF = 'The worker goes on by itself after that.';
