/** What a key's source of the user's own tells, as far as it can be used. */
import { TaskError } from '../contract/errors.ts';
import { type KeySource, readKey } from '../wire/key.ts';

/** For the start. Throws `KEY_MISSING` or `KEY_MALFORMED`; a source may have nothing yet. */
export function presentKey(source: KeySource): string {
  const key: unknown = source.current();
  if (typeof key === 'string' && key !== '') return readKey(key, 'The key that current() returned');
  const later = key instanceof Promise;
  // It is nobody's any more.
  if (later) key.catch(() => {});
  throw new TaskError(
    'KEY_MISSING',
    `The source of the key has none: current() returned ${later ? 'a promise' : 'no text'}.`,
    {
      hint: later
        ? 'current() returns the key itself, at once: fetch it before the worker is made, and anew in reload(), which may be async.'
        : 'Return the key from current(), or start the worker once it is there.',
    },
  );
}

/** Of a running worker: what is no key changes nothing. */
export function usableKey(key: unknown): string | undefined {
  if (key instanceof Promise) key.catch(() => {});
  if (typeof key !== 'string') return undefined;
  try {
    return readKey(key, 'The key');
  } catch {
    return undefined;
  }
}
