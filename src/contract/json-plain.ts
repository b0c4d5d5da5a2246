/**
 * JSON as most programs write it, taken by JSON.parse: no dependencies, and faster by far than walking it. It is proven
 * harmless by writing it again: where that gives the same text, no name was there twice, no number was bent, and no `-0`
 * got lost. What that does not show is looked for before. Everything else is for the scanner (`json.ts`) to judge, which
 * says where a fault is; a text that is refused here may be a good one.
 */
export function plainJson(text: string, maxDepth: number): { readonly value: unknown } | undefined {
  if (!looksPlain(text, maxDepth)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text ? { value } : undefined;
  } catch {
    return undefined;
  }
}

/** No nesting beyond the bound, no escape that may hide half a character, no number that may be beyond 2^53. */
function looksPlain(text: string, maxDepth: number): boolean {
  let depth = -1;
  let digits = 0;
  const { length } = text;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x30 && code <= 0x39) {
      if (++digits > SURE_DIGITS) return false;
      continue;
    }
    digits = 0;
    if (code === 0x22) {
      for (i++; ; i++) {
        const inside = text.charCodeAt(i);
        if (inside === 0x22) break;
        // After the end it is NaN: the text is broken.
        if (!(inside >= 0x20)) return false;
        if (inside === 0x5c && text.charCodeAt(++i) === 0x75) return false;
      }
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth >= maxDepth) return false;
    } else if (code === 0x7d || code === 0x5d) depth--;
    // Blanks outside of strings are not written again.
    else if (code <= 0x20) return false;
  }
  return true;
}

/** Any number of so many digits is below 2^53. */
const SURE_DIGITS = 15;
