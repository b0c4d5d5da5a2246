/**
 * Where a value stands in a JSON text, to count its bytes as they were sent. Only for texts that
 * `parseJson` has found valid, and only where a body is large enough to pass a limit at all.
 */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Bytes of member `name` of the object that begins at `at`; 0 where there is none. */
export function memberBytes(text: string, name: string, at = 0): number {
  let bytes = 0;
  eachMember(text, skipSpace(text, at), (found, span) => {
    if (found === name) bytes = byteLength(text, span);
  });
  return bytes;
}

export function byteLength(text: string, { from, to }: Span): number {
  return Buffer.byteLength(text.slice(from, to));
}

/** The elements of the array that begins at `at` (or is member `name` of the object there). */
export function elements(text: string, name?: string, at = 0): readonly Span[] {
  let from = skipSpace(text, at);
  if (name !== undefined) {
    const object = from;
    from = -1;
    eachMember(text, object, (found, span) => {
      if (found === name) from = span.from;
    });
  }
  const spans: Span[] = [];
  if (text[from] !== '[') return spans;
  let i = skipSpace(text, from + 1);
  while (text[i] !== ']') {
    const to = skipValue(text, i);
    spans.push({ from: i, to });
    i = skipSpace(text, to);
    if (text[i] === ',') i = skipSpace(text, i + 1);
  }
  return spans;
}

function eachMember(text: string, at: number, visit: (name: string, value: Span) => void): void {
  if (text[at] !== '{') return;
  let i = skipSpace(text, at + 1);
  while (text[i] !== '}') {
    const nameEnd = skipValue(text, i);
    const name = JSON.parse(text.slice(i, nameEnd)) as string;
    const from = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const to = skipValue(text, from);
    visit(name, { from, to });
    i = skipSpace(text, to);
    if (text[i] === ',') i = skipSpace(text, i + 1);
  }
}

/** The end of the value that begins at `at`. By codes: a full batch of reports is read here as well, of which none is large. */
function skipValue(text: string, at: number): number {
  let depth = 0;
  let i = at;
  for (;;) {
    const code = text.charCodeAt(i);
    if (code === 0x22) i = skipString(text, i);
    else if (code === 0x7b || code === 0x5b) {
      depth++;
      i++;
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
      i++;
    } else {
      if (depth === 0) return skipWord(text, i);
      i++;
    }
    if (depth === 0) return i;
  }
}

function skipString(text: string, at: number): number {
  let end = text.indexOf('"', at + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

/** Whether an odd number of backslashes stands before it. */
function isEscaped(text: string, at: number): boolean {
  let from = at;
  while (text.charCodeAt(from - 1) === 0x5c) from--;
  return (at - from) % 2 === 1;
}

const WORD = /[^\s,:\]}]*/y;

function skipWord(text: string, at: number): number {
  WORD.lastIndex = at;
  WORD.test(text);
  return WORD.lastIndex;
}

/** Nothing else that JSON lets stand between values has a code as low. */
function skipSpace(text: string, at: number): number {
  let i = at;
  while (text.charCodeAt(i) <= 0x20) i++;
  return i;
}
