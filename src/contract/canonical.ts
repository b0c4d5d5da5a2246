import canonicalizeJson from 'canonicalize';

/** The canonical text of a JSON value (RFC 8785): two bodies are the same if these are. */
export function canonical(value: unknown): string {
  const text = (canonicalizeJson as unknown as (v: unknown) => string | undefined)(value);
  if (text === undefined) throw new TypeError('canonical() was given a value that is no JSON');
  return text;
}
