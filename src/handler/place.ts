import { realpathSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** So much of a stack and of one of its lines is read: a message may have many megabytes. */
const STACK_CHARS = 65_536;
const LINE_CHARS = 2_000;
/** Where our own files lie, in sources and in `dist/`: what goes wrong in a user's file passes through them. */
const HERE = dirname(fileURLToPath(import.meta.url));
const OURS: ReadonlySet<string> = new Set(
  basename(HERE) === 'chunks' ? [HERE, dirname(HERE)] : [HERE, join(HERE, 'chunks')],
);

/** What calls `import()` for us; see `load.ts`. */
const IMPORTER = /[\\/]interlock-import\.cjs:\d+$/;

const PARSED = /^((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/]).*:\d+)$/;
const FRAME = /^ {4}at (?:.*?[ (])??((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/]).*:\d+):\d+\)?$/;

/** Of a failure: where it was thrown, and by which ways of the user's own code it got there. */
const FRAMES_MAX = 5;
/** Of one of them; what is longer loses its beginning, for the line stands at the end. */
const FRAME_CHARS = 200;
const PACKAGES = `${sep}node_modules${sep}`;

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
  const parsed = linesOf(stack)[0]?.match(PARSED)?.[1];
  if (parsed !== undefined) return path(parsed);
  for (const found of userFrames(stack)) return found;
  return undefined;
}

/**
 * The frames of a stack that lie in the user's own files, not in packages, innermost first: `demo/pay@1.ts:14`, as seen
 * from the folder; of files outside of it only `…/lib/money.ts:3`. Bounded, and without paths of this machine.
 * @param message the error's, which stands before its frames and may look like some.
 */
export function ownFrames(stack: string, message: string, folder: string): string[] {
  const at = message === '' ? -1 : stack.indexOf(message);
  const frames: string[] = [];
  const folders = [folder, real(folder)];
  for (const found of userFrames(at < 0 ? stack : stack.slice(at + message.length))) {
    if (found.includes(PACKAGES)) continue;
    frames.push(shortened(found, folders));
    if (frames.length === FRAMES_MAX) break;
  }
  return frames;
}

/** Modules have the addresses that links lead to. */
function real(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}

function shortened(place: string, folders: readonly string[]): string {
  const inside = folders.find((folder) => place.startsWith(folder + sep));
  const parts = (inside === undefined ? place : relative(inside, place)).split(sep);
  const text = inside === undefined ? `…/${parts.slice(-2).join('/')}` : parts.join('/');
  return text.length > FRAME_CHARS ? `…${text.slice(1 - FRAME_CHARS)}` : text;
}

function linesOf(stack: string): string[] {
  return stack
    .slice(0, STACK_CHARS)
    .split('\n')
    .filter(({ length }) => length <= LINE_CHARS);
}

function* userFrames(stack: string): Generator<string> {
  for (const line of linesOf(stack)) {
    const frame = line.match(FRAME)?.[1];
    const found = frame === undefined ? undefined : path(frame);
    if (found !== undefined && !OURS.has(dirname(found)) && !IMPORTER.test(found)) yield found;
  }
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
