/**
 * Lease tokens of spool records never leave the machine through what is shown: who has one can end that attempt in the
 * worker's name.
 */
const MASK = '(masked)';

/** The value with every member named `leaseToken`, and every text that holds the token, masked at any depth. */
export function withoutToken(value: unknown, token: string | undefined): unknown {
  if (typeof value === 'string')
    return token !== undefined && token.length >= TOKEN_CHARS
      ? value.replaceAll(token, MASK)
      : value;
  if (Array.isArray(value)) return value.map((one) => withoutToken(one, token));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      name === 'leaseToken' ? MASK : withoutToken(one, token),
    ]),
  );
}

/**
 * Bytes that are no record any more, as text: what is no plain text is escaped as `\xNN`, and what may be a token is
 * masked, also where its name was damaged.
 */
export function escaped(content: Uint8Array): string {
  const text = new TextDecoder('utf-8', { fatal: false }).decode(content);
  const whole = Buffer.from(text).equals(Buffer.from(content));
  const shown = whole ? text : Buffer.from(content).toString('latin1');
  return shown
    .replace(NAMED, `$1${MASK}`)
    .replace(LIKE_A_TOKEN, MASK)
    .replace(whole ? CONTROLS : NOT_ASCII, (char) => {
      const code = char.codePointAt(0) ?? 0;
      return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
    });
}

/** A token shorter than this would be found in words, too. */
const TOKEN_CHARS = 8;
const NAMED = /(leaseToken[^\w]{1,6})[^"\\,}]*/g;
/** A SHA-256 in base 64: 43 characters. */
const LIKE_A_TOKEN = /(?<![\w-])[\w-]{43}(?![\w-])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to be escaped
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to be escaped
const NOT_ASCII = /[\u0000-\u001f\u007f-\u00ff]/g;
