import canonicalizeJson from 'canonicalize';

/**
 * The canonical text of a JSON value (RFC 8785): two bodies are the same if these are. What JSON.parse has made is written
 * here, since every report needs one; the library says what is wrong with anything else.
 */
export function canonical(value: unknown): string {
  const written = text(value, 0);
  if (written !== undefined) return written;
  const theirs = (canonicalizeJson as unknown as (v: unknown) => string | undefined)(value);
  if (theirs === undefined) throw new TypeError('canonical() was given a value that is no JSON');
  return theirs;
}

/** `undefined`: it holds something that is no plain JSON, or is nested so deep that it may hold itself. */
function text(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined;
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (value === null) return 'null';
  if (typeof value !== 'object' || depth > DEPTH) return undefined;
  if (Array.isArray(value)) return listText(value, depth + 1);
  return 'toJSON' in value ? undefined : objectText(value as Record<string, unknown>, depth + 1);
}

function listText(list: readonly unknown[], depth: number): string | undefined {
  let all = '[';
  for (let i = 0; i < list.length; i++) {
    const one = text(list[i], depth);
    if (one === undefined) return undefined;
    all += i === 0 ? one : `,${one}`;
  }
  return `${all}]`;
}

function objectText(object: Readonly<Record<string, unknown>>, depth: number): string | undefined {
  let all = '{';
  for (const name of Object.keys(object).sort()) {
    const value = object[name];
    // As JSON.stringify does.
    if (value === undefined) continue;
    const first = quoted(name);
    const one = text(value, depth);
    if (first === undefined || one === undefined) return undefined;
    all += all.length === 1 ? `${first}:${one}` : `,${first}:${one}`;
  }
  return `${all}}`;
}

function quoted(value: string): string | undefined {
  if (PLAIN.test(value)) return `"${value}"`;
  return value.isWellFormed() ? JSON.stringify(value) : undefined;
}

/** Nothing that is written with an escape. */
const PLAIN = /^[ !#-[\]-~]*$/;
/** Deeper than any body that is taken. */
const DEPTH = 1_024;
