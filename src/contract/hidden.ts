/**
 * What is never shown: keys in any text, users and passwords in addresses. Every room hides them through this door.
 * No dependencies.
 */

/** Keys of ours in any text become `il_…`. */
export function hideKeys(text: string): string {
  return text.replace(KEY, 'il_…');
}

/** Keys of ours, and what stands before the `@` of addresses. */
export function hideSecrets(text: string): string {
  return hideKeys(text).replace(WORDS, (word) => {
    const at = word.lastIndexOf('@');
    const start = at < 0 ? null : SCHEME_END.exec(word);
    if (!start) return word;
    const from = start.index + start[0].length;
    const user = word.slice(from, at);
    // One slash is left where an address was taken for a path; `C:/box/ada@host` holds no password.
    if (at < from || (start[0] === ':/' && !user.includes(':'))) return word;
    // A password may hold a slash: nothing up to the last "@" stays.
    return `${word.slice(0, from)}…${word.slice(at)}`;
  });
}

/** The same at any depth of what is shown as JSON, in names too. */
export function hideSecretsIn<T>(value: T): T {
  return hidden(value, 0) as T;
}

/** A value that may be an address as a whole, blanks and all: nothing up to its last `@` stays. */
export function hideInAddress(text: string): string {
  const at = text.lastIndexOf('@');
  const before = text.slice(0, Math.max(0, at));
  const scheme = /^\s*[a-z][a-z\d+.-]*:\/\//i.exec(before)?.[0] ?? '';
  // `ada@host` holds no password.
  const shown = before.includes(':') ? `${scheme}…${text.slice(at)}` : text;
  return hideKeys(shown);
}

/** Whether a whole key stands in a value, at any depth, in names too. */
export function holdsKey(value: unknown): boolean {
  // By a list, not by calls: some kilobytes of a config file can be 100,000 levels deep.
  const left: unknown[] = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one === 'string' && WHOLE_KEY.test(one)) return true;
    if (typeof one !== 'object' || one === null) continue;
    for (const [name, inner] of Object.entries(one)) left.push(name, inner);
  }
  return false;
}

/** Whether a value is an address with a password, also one of which a path was made. */
export function holdsPassword(text: string): boolean {
  const at = text.lastIndexOf('@');
  const start = at < 0 ? null : SCHEME_END.exec(text);
  return start !== null && text.slice(start.index + start[0].length, at).includes(':');
}

function hidden(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return hideSecrets(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEPTH) return '(…)';
  if (Array.isArray(value)) return value.map((one) => hidden(one, depth + 1));
  const form = Object.getPrototypeOf(value);
  if (form !== Object.prototype && form !== null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [hideSecrets(name), hidden(one, depth + 1)]),
  );
}

/** Also after `\n` as JSON writes it. Foreign keys may hold what stands in the second half. */
const KEY = /(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt]))il_[\w-]+(?:[~+/=.]+[\w-]+)*/g;
/** Shorter ones are words that happen to begin so; a key has 43 characters, and half of one is too much already. */
const WHOLE_KEY = /(?<![A-Za-z0-9])il_[\w-]{20,}/;
/** Up to what ends an address in sentences and in JSON. */
const WORDS = /[^\s"<>]+/g;
/** Not `file:///…/@scope/`: without a host there is no user. */
const SCHEME_END = /:\/{1,2}(?!\/)/;
/** Deeper is nothing that people read. */
const DEPTH = 64;
