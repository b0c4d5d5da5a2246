/** The options of a call come from programs without types too: a `NaN` would be a time that is never over, or over at once. */
import { TaskError } from '../contract/errors.ts';
import { valueInWords } from '../core/value-words.ts';

export interface CallOptions {
  /** Instead of the client's, in milliseconds; 0: the call is made once. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Throws `INVALID_OPTION`, before anything is stored or sent. */
export function checkCall(how: CallOptions | undefined): void {
  if (how === undefined) return;
  if (typeof how !== 'object' || how === null)
    throw new TaskError(
      'INVALID_OPTION',
      `The options of a call are one object, and it got ${valueInWords(how)}.`,
      { hint: 'Give { timeoutMs, signal }, or leave it out.' },
    );
  const { timeoutMs, signal } = how;
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs >= 0))
    throw wrong('timeoutMs', timeoutMs, 'a number of milliseconds from 0');
  if (signal !== undefined && !isSignal(signal))
    throw wrong('signal', signal, 'an AbortSignal (that of an AbortController)');
}

function wrong(option: string, value: unknown, must: string): TaskError {
  return new TaskError(
    'INVALID_OPTION',
    `The option ${option} of a call is ${valueInWords(value)}; it must be ${must}.`,
    { details: { option } },
  );
}

/** By what is used of it: a signal may be of another realm or a library. */
function isSignal(value: unknown): boolean {
  const { aborted, addEventListener, removeEventListener } = (value ?? {}) as Partial<AbortSignal>;
  return (
    typeof aborted === 'boolean' &&
    typeof addEventListener === 'function' &&
    typeof removeEventListener === 'function'
  );
}
