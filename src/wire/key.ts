import { hideKeys } from '../contract/hidden.ts';
import { bounds, TaskError } from '../contract/index.ts';

/**
 * Where a key comes from. `current` is what is in use; `reload` looks again at the source and resolves with
 * what is in use afterwards, or with `undefined` where the source could not be read (the old one stays).
 */
export interface KeySource {
  current(): string;
  reload(): Promise<string | undefined>;
}

/** A key that never changes. Throws `KEY_MALFORMED`. */
export function constantKey(text: string): KeySource {
  const key = readKey(text, 'The key that was given');
  return { current: () => key, reload: () => Promise.resolve(key) };
}

/**
 * The key in a text as people store it: white space around it and a byte order mark are not part of it.
 * What could not stand in a header is refused here, since other places would quote it in their errors.
 * @param what begins the message: `The key file /etc/interlock/key`.
 */
export function readKey(text: string, what: string): string {
  const key = text.replace(/^\uFEFF/, '').trim();
  const why =
    key === ''
      ? 'is empty'
      : key.length > bounds.keyChars
        ? `holds more than ${bounds.keyChars} characters`
        : /^[\x21-\x7e]+$/.test(key)
          ? undefined
          : 'holds characters that no key has (white space or letters beyond ASCII)';
  if (why === undefined) return key;
  throw new TaskError('KEY_MALFORMED', `${what} ${why}.`, {
    hint: 'A key is one line that begins with "il_"; make one with `interlock keys new`.',
  });
}

/** Replaces what looks like a key, for texts that came from somebody else. */
export function withoutKeys(text: string): string {
  return hideKeys(text).replace(/\bBearer\s+[^\s"'<]+/gi, 'Bearer …');
}
