import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** So much of a stack and of one of its lines is read: a message may have many megabytes. */
const STACK_CHARS = 65_536;
const LINE_CHARS = 2_000;
/** Where our own files lie, in sources and in `dist/`: what goes wrong in a user's file passes through them. */
const HERE = dirname(fileURLToPath(import.meta.url));
const OURS: ReadonlySet<string> = new Set([HERE, join(HERE, 'chunks')]);

/** What calls `import()` for us; see `load.ts`. */
const IMPORTER = /[\\/]interlock-import\.cjs:\d+$/;

const PARSED = /^((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/]).*:\d+)$/;
const FRAME = /^ {4}at (?:.*?[ (])??((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/]).*:\d+):\d+\)?$/;

/**
 * The user's `file:line` that an error comes from: for a syntax error the line that the parser stopped at (Node
 * writes it above the message), else the innermost frame that is a file of the user's. Never throws.
 */
export function placeOf(error: unknown): string | undefined {
  let stack: unknown;
  try {
    stack = (error as { stack?: unknown } | null | undefined)?.stack;
  } catch {
    return undefined;
  }
  if (typeof stack !== 'string') return undefined;
  const lines = stack
    .slice(0, STACK_CHARS)
    .split('\n')
    .filter(({ length }) => length <= LINE_CHARS);
  const parsed = lines[0]?.match(PARSED)?.[1];
  if (parsed !== undefined) return path(parsed);
  for (const line of lines) {
    const frame = line.match(FRAME)?.[1];
    const found = frame === undefined ? undefined : path(frame);
    if (found !== undefined && !OURS.has(dirname(found)) && !IMPORTER.test(found)) return found;
  }
  return undefined;
}

function path(place: string): string | undefined {
  if (!place.startsWith('file://')) return place;
  try {
    const [, url = '', line] = place.match(/^(.*)(:\d+)$/) ?? [];
    return fileURLToPath(url) + line;
  } catch {
    return undefined;
  }
}
