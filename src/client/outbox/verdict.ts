import type { TaskError } from '../../contract/index.ts';

/**
 * What an answer that is no success means for a stored submission. `refused`: it will never be taken as it is · `key`:
 * the key or the address is wrong, somebody has to act; kept · `busy`: it was asked to come later; kept · `none`: nobody
 * answered, or with something that is no answer of a control plane; kept, it may have had its effect.
 */
export type Verdict = 'refused' | 'key' | 'busy' | 'none';

export function verdictOf(error: TaskError): Verdict {
  const status = error.details?.status;
  // Found before anything was sent: the key is of another project.
  if (error.code === 'PROJECT_MISMATCH') return 'key';
  if (typeof status !== 'number') return 'none';
  if (error.code === 'UNSUPPORTED_OPERATION') return 'key';
  if (REFUSED.has(status)) return 'refused';
  if (BUSY.has(status)) return 'busy';
  return status >= 500 ? 'none' : 'key';
}

/** 401, 403, 404, 426 and whatever else comes are about the key, the address or the version, not about one submission. */
const REFUSED: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);
const BUSY: ReadonlySet<number> = new Set([408, 425, 429, 503]);

/** Whether nothing that is stored gets anywhere before somebody has mended the key, the address or the version. */
export function needsSomebody(code: string | undefined): boolean {
  return code !== undefined && FOR_SOMEBODY.has(code);
}

const FOR_SOMEBODY: ReadonlySet<string> = new Set([
  'UNAUTHENTICATED',
  'SCOPE_DENIED',
  'PROJECT_MISMATCH',
  'NOT_FOUND',
  'CONTRACT_UNSUPPORTED',
  'UNSUPPORTED_OPERATION',
]);

/** Whether the connection itself failed, so that asking for something else tells no more. */
export function nobodyThere(error: TaskError): boolean {
  const cause = error.details?.cause;
  return cause === 'connect' || cause === 'dns' || cause === 'tls' || cause === 'proxy';
}

/** What the peer asked to wait, in milliseconds. */
export function retryAfterOf(error: TaskError): number {
  const wait = error.details?.retryAfterMs;
  return typeof wait === 'number' ? wait : 0;
}
