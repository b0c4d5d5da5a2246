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

/** What `new Function` and `eval` made has no file: the place in it that made it stands there first, innermost last. */
const MADE =
  /^ {4}at (?:[^(]*\()?eval at .*?\(((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/]).*?:\d+):\d+\)+, /;
const ANY_FRAME = /^ {4}at /;

/** Of one of them; what is longer loses its beginning, for the line stands at the end. */
const FRAME_CHARS = 200;
/** Of a package's name: npm takes no longer one. */
const PACKAGE_CHARS = 214;
const PACKAGES = `${sep}node_modules${sep}`;

export interface OwnFrames {
  readonly frames: readonly string[];
  /** Who threw, where it was not the user's own code: a package's name, or `Node.js`. */
  readonly thrownIn: string | undefined;
}

/** Where the handlers are: the folder, and where its links lead to, for modules have those addresses. */
export function foldersOf(folder: string): readonly string[] {
  return [folder, real(folder)];
}

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
  const lines = linesOf(stack);
  const parsed = lines[0]?.match(PARSED)?.[1];
  if (parsed !== undefined) return path(parsed);
  for (const line of lines) {
    const found = userFrame(line);
    if (found !== undefined) return found.place;
  }
  return undefined;
}

/**
 * The frames of a stack that lie in the user's own files, not in packages, innermost first: `demo/pay@1.ts:14`, as seen
 * from the folder; of files outside of it only `…/lib/money.ts:3`. Bounded, and without paths of this machine.
 * @param message the error's, which stands before its frames and may look like some.
 * @param max as many frames at most.
 */
export function ownFrames(
  stack: string,
  message: string,
  folders: readonly string[],
  max: number,
): OwnFrames {
  const at = message === '' ? -1 : stack.indexOf(message);
  const after = at < 0 ? stack : stack.slice(at + message.length);
  const frames: string[] = [];
  let thrownIn: string | undefined;
  let first = true;
  for (const line of linesOf(after)) {
    if (!ANY_FRAME.test(line)) continue;
    const found = userFrame(line);
    const own = found !== undefined && packageOf(seenFrom(found.place, folders)) === undefined;
    if (first && !own) thrownIn = (found && packageOf(found.place)) ?? packageAt(line);
    first = false;
    if (!own) continue;
    frames.push(`${shortened(found.place, folders)}${found.made ? ' (eval)' : ''}`);
    if (frames.length === max) break;
  }
  return { frames, thrownIn };
}

/** `stripe` of `…/node_modules/stripe/index.js:90`. */
function packageOf(place: string): string | undefined {
  const at = place.lastIndexOf(PACKAGES);
  if (at < 0) return undefined;
  const [scope = '', name = ''] = place.slice(at + PACKAGES.length).split(sep);
  return (scope.startsWith('@') ? `${scope}/${name}` : scope).slice(0, PACKAGE_CHARS);
}

/** Of a frame that is no user's: ours (`ctx` throws too), or Node's. */
function packageAt(line: string): string {
  const frame = line.match(FRAME)?.[1];
  return frame === undefined ? 'Node.js' : 'Interlock';
}

function real(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}

/** The handlers folder may itself lie in a package. */
function seenFrom(place: string, folders: readonly string[]): string {
  const inside = folders.find((folder) => place.startsWith(folder + sep));
  return inside === undefined ? place : sep + relative(inside, place);
}

function shortened(place: string, folders: readonly string[]): string {
  const seen = seenFrom(place, folders);
  const parts = seen.split(sep);
  const text = seen === place ? `…/${parts.slice(-2).join('/')}` : parts.slice(1).join('/');
  return text.length > FRAME_CHARS ? `…${text.slice(1 - FRAME_CHARS)}` : text;
}

function linesOf(stack: string): string[] {
  return stack
    .slice(0, STACK_CHARS)
    .split('\n')
    .filter(({ length }) => length <= LINE_CHARS);
}

interface UserFrame {
  readonly place: string;
  /** Of code that was made there by `new Function` or `eval`. */
  readonly made: boolean;
}

function userFrame(line: string): UserFrame | undefined {
  const made = line.match(MADE)?.[1];
  const frame = made ?? line.match(FRAME)?.[1];
  const place = frame === undefined ? undefined : path(frame);
  if (place === undefined || OURS.has(dirname(place)) || IMPORTER.test(place)) return undefined;
  return { place, made: made !== undefined };
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
