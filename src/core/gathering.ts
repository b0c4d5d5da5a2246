/** When submissions that come together go as one call, and what the answer to such a call means. Pure. */
import type { NoAnswerCause } from '../ports/transport.ts';
import { submitDefaults } from './submit-defaults.ts';

/** How far the submissions are that wait for their answers. */
export interface Gathering {
  /** Submissions that no call has taken yet. */
  readonly waiting: number;
  /** Calls that are under way, of one or of many. */
  readonly calls: number;
  /** When the last call began, by the clock. */
  readonly lastCallAt: number;
}

/** Whether those that wait go now, as many as fit into one call; else they wait for a call to come back, or for `gatherMs`. */
export function goNow({ waiting, calls, lastCallAt }: Gathering, now: number): boolean {
  const { batchCalls, batchForOneMoreCall, gatherMs } = submitDefaults;
  if (waiting === 0 || calls >= batchCalls) return false;
  return calls === 0 || waiting >= calls * batchForOneMoreCall || now >= lastCallAt + gatherMs;
}

/** What became of a batch call as a whole. */
export type BatchEnd =
  | { readonly kind: 'ok' }
  | { readonly kind: 'refused'; readonly status: number }
  | {
      readonly kind: 'no-answer';
      readonly cause: NoAnswerCause;
      readonly status?: number;
      readonly retryAfterMs?: number;
    };

/**
 * `items`: each has an answer of its own · `each`: the answer is that of each one, as it would be of its single call ·
 * `each-alone`: the same, and who asks again does so by a single call, should one of them be what breaks the batch ·
 * `singly`: it says something about the batch (not known, too large, one of its items), so each goes as a single call at once.
 */
export function afterBatch(end: BatchEnd): 'items' | 'each' | 'each-alone' | 'singly' {
  if (end.kind === 'ok') return 'items';
  if (end.kind === 'refused')
    return end.status >= 500 ? 'each-alone' : ABOUT_THE_CALLER.has(end.status) ? 'each' : 'singly';
  if (NOBODY.has(end.cause)) return 'each-alone';
  // A proxy's word. That it is busy, or nobody is behind it, would be so for single calls too, and they would be many.
  const { status = 0, retryAfterMs } = end;
  if (BUSY.has(status)) return 'each';
  return status >= 500 || retryAfterMs !== undefined ? 'each-alone' : 'singly';
}

const NOBODY: ReadonlySet<NoAnswerCause> = new Set([
  ...(['dns', 'connect', 'tls', 'proxy', 'timeout', 'cut', 'aborted'] as const),
]);
const BUSY: ReadonlySet<number> = new Set([408, 425, 429]);
/** The key, the version, or how much is asked for. */
const ABOUT_THE_CALLER: ReadonlySet<number> = new Set([401, 403, 426, ...BUSY]);
