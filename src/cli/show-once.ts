import { TaskError } from '../contract/index.ts';
import type { Output } from './output.ts';

/** Why stdout has not taken what it was given; `undefined`: it has, as far as can be known. */
export function untaken(out: Output): string | undefined {
  if (out.fault) return out.fault.message;
  if (out.closed) return 'nobody reads it';
  return out.nowhere ? 'it is closed, or /dev/null' : undefined;
}

/** A key is shown once: where that cannot be, it must not pass as made. */
export function notShown(what: string, out: Output, hint: string): TaskError | undefined {
  const why = untaken(out);
  if (why === undefined) return undefined;
  return new TaskError('KEY_NOT_SHOWN', `${what}: stdout does not take it (${why}).`, { hint });
}
