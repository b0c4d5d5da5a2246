import type { TaskFailure } from './errors.ts';

/** What a handler may return, in the same words whatever it runs in. */

/** Why a result is none: it is larger than the bound as JSON, or no text can hold it. `undefined`: it fits. */
export function resultBeyond(maxBytes: number, result: unknown): TaskFailure | undefined {
  const size = resultSize(maxBytes, result);
  return typeof size === 'number' ? undefined : size;
}

/** Its bytes as JSON, or why it is none. */
export function resultSize(maxBytes: number, result: unknown): number | TaskFailure {
  let bytes: number;
  try {
    bytes = Buffer.byteLength(JSON.stringify(result) ?? '');
  } catch (error) {
    return unwritableResult(error);
  }
  return bytes <= maxBytes ? bytes : largeResult(bytes, maxBytes);
}

export function largeResult(bytes: number, maxBytes: number): TaskFailure {
  return noResult(`The result has ${bytes} bytes as JSON; at most ${maxBytes} can be handed over.`);
}

/** Beyond what one string can hold. */
export function unwritableResult(error: unknown): TaskFailure {
  const why = error instanceof Error ? error.message : 'it is too large';
  return noResult(`The result cannot be written as JSON: ${why}.`);
}

function noResult(why: string): TaskFailure {
  const message = `${why} Put it into a file and return where it is.`;
  return { code: 'RESULT_INVALID', message, retryable: false };
}
