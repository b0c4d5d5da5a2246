/**
 * The one door through which whatever a handler threw becomes a `TaskFailure`. Anything can be thrown:
 * nothing, a string, a proxy, an error whose getters throw, one with a message of many megabytes. The door
 * never throws and everything that leaves it is bounded.
 */
import { inspect } from 'node:util';
import { cutText, type TaskFailure } from '../contract/errors.ts';
import { isDeeperThan, toJson } from '../contract/json.ts';
import { bounds } from '../contract/limits.ts';
import { ERROR_BRAND, type ErrorBrand } from './errors.ts';
import { rooted } from './paths.ts';
import { foldersOf, ownFrames } from './place.ts';

export interface Thrown {
  readonly brand: ErrorBrand | undefined;
  readonly failure: TaskFailure;
  /** Says more than "I was interrupted": counts also after the handler was told to stop. */
  readonly opinion: boolean;
  /** For the task's log, with those of its causes and parts; `undefined` where there is none. */
  readonly stack: string | undefined;
  /** The error was made because of others, which it may not name. */
  readonly caused: boolean;
}

const CODE = /^[A-Z][A-Z0-9_]*$/;
const CODE_CHARS = 100;
/** Causes and parts of an AggregateError that are told, and characters of each. */
const CAUSES = 3;
const CAUSE_CHARS = 500;
/** Places in the handler's own code that are told of an error, and of each of its causes and parts. */
const FRAMES = 5;
const CAUSE_FRAMES = 2;

/**
 * Reads what was thrown. Never throws.
 * @param folder the handlers', for the places in its code.
 */
export function readThrown(thrown: unknown, folder: string): Thrown {
  const brand = read(thrown, ERROR_BRAND) as ErrorBrand | undefined;
  const own = ownCode(thrown);
  const causes = causesOf(thrown);
  const parts = partsOf(thrown);
  const details = detailsOf(thrown, causes, parts, ofOurs(brand) ? undefined : folder);
  const retryAfterMs = brand === 'retryable' ? duration(read(thrown, 'retryAfterMs')) : undefined;
  return {
    brand,
    failure: {
      code: own ?? (brand === 'unknown' ? 'OUTCOME_UNKNOWN' : 'HANDLER_ERROR'),
      message: cutText(messageOf(thrown), bounds.messageChars),
      retryable: brand === 'retryable' || brand === 'effect-refused',
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(details === undefined ? {} : { details }),
    },
    opinion:
      brand === 'retryable' ||
      brand === 'unknown' ||
      (brand === undefined && own !== undefined && !isInterruption(thrown, own)),
    stack: stacksOf(thrown, causes, parts),
    caused: causes.length + parts.length > 0,
  };
}

/** Made by us and not by the handler: where that was helps nobody. */
function ofOurs(brand: ErrorBrand | undefined): boolean {
  return brand === 'stop' || brand === 'effect-refused';
}

/** The message of anything that was thrown, bounded. Never throws. */
export function errorText(thrown: unknown): string {
  return cutText(messageOf(thrown), bounds.messageChars);
}

/** Property of anything, `undefined` where it cannot be read. */
function read(thing: unknown, name: PropertyKey): unknown {
  try {
    return (thing as Record<PropertyKey, unknown> | null | undefined)?.[name];
  } catch {
    return undefined;
  }
}

function ownCode(thrown: unknown): string | undefined {
  const code = read(thrown, 'code');
  return typeof code === 'string' && code.length <= CODE_CHARS && CODE.test(code)
    ? code
    : undefined;
}

/** Node's own codes of what breaks when a signal aborts: a consequence of the stop, not an opinion. */
function isInterruption(thrown: unknown, code: string): boolean {
  return (
    code === 'ABORT_ERR' ||
    /^(ERR|UND_ERR)_/.test(code) ||
    read(thrown, 'errno') !== undefined ||
    read(thrown, 'syscall') !== undefined
  );
}

function messageOf(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown === '' ? 'The handler threw "".' : thrown;
  if (thrown === null || typeof thrown !== 'object') {
    return `The handler threw ${describe(thrown)}, not an error.`;
  }
  const message = read(thrown, 'message');
  if (typeof message === 'string' && message !== '') return message;
  const name = read(thrown, 'name');
  if (message !== undefined && typeof name === 'string' && name !== '') {
    return `${name} without a message`;
  }
  return `The handler threw ${describe(thrown)}`;
}

function describe(thing: unknown): string {
  try {
    return inspect(thing, {
      depth: 2,
      maxArrayLength: 20,
      maxStringLength: 1_000,
      breakLength: Number.POSITIVE_INFINITY,
      getters: false,
    });
  } catch {
    return `something that cannot be shown (${typeof thing})`;
  }
}

/**
 * The error's own `details`, and its name, place in the code, causes and parts beside them.
 * @param folder `undefined` where no place is told.
 */
function detailsOf(
  thrown: unknown,
  causes: readonly unknown[],
  parts: readonly unknown[],
  folder: string | undefined,
): Record<string, unknown> | undefined {
  const given = read(thrown, 'details');
  const details: Record<string, unknown> = given === undefined ? {} : boundedDetails(given);
  const name = read(thrown, 'name');
  if (typeof name === 'string' && !ORDINARY.has(name)) {
    details.name ??= cutText(name, CODE_CHARS);
  }
  const folders = folder === undefined ? undefined : foldersOf(folder);
  const placed =
    details.stack === undefined ? { ...details, ...placesOf(thrown, folders, FRAMES) } : details;
  // What is too large is left out as a whole later on, and the handler's own details with it: what stands beside them goes first.
  const less = [
    () => withOthers(placed, causes, parts, folders),
    () => withOthers(placed, causes, parts, undefined),
    () => withOthers(details, causes, parts, undefined),
    () => withOthers(details, causes, [], undefined),
  ];
  let told = details;
  for (const some of less) {
    const made = some();
    if (Buffer.byteLength(JSON.stringify(made)) > bounds.detailsBytes) continue;
    told = made;
    break;
  }
  return Object.keys(told).length === 0 ? undefined : told;
}

function withOthers(
  details: Record<string, unknown>,
  causes: readonly unknown[],
  parts: readonly unknown[],
  folders: readonly string[] | undefined,
): Record<string, unknown> {
  const told = { ...details };
  if (causes.length > 0) told.causes ??= causes.map((cause) => brief(cause, folders));
  if (parts.length > 0) told.errors ??= parts.map((part) => brief(part, folders));
  return told;
}

/** `stack` and `thrownIn` of an error: where in the handler's own code it was thrown, or what was called there. */
function placesOf(thrown: unknown, folders: readonly string[] | undefined, max: number) {
  const stack = read(thrown, 'stack');
  if (folders === undefined || typeof stack !== 'string') return {};
  const message = read(thrown, 'message');
  const own = ownFrames(stack, typeof message === 'string' ? message : '', folders, max);
  if (own.frames.length === 0) return {};
  return {
    stack: own.frames,
    ...(own.thrownIn === undefined ? {} : { thrownIn: own.thrownIn }),
  };
}

/** Its stack and those of its causes and parts, one after the other: names, messages and places, nothing else. */
function stacksOf(
  thrown: unknown,
  causes: readonly unknown[],
  parts: readonly unknown[],
): string | undefined {
  const others = [
    ...causes.map((cause) => ['cause', cause] as const),
    ...parts.map((part, index) => [`error ${index + 1}`, part] as const),
  ];
  const stack = read(thrown, 'stack');
  if (typeof stack !== 'string' && others.length === 0) return undefined;
  // One with a message of many megabytes leaves the others their room.
  const chars = (others.length === 0 ? 1 : 0.5) * bounds.messageChars;
  const each = Math.floor(chars / others.length) - OTHER_CHARS;
  return [
    cutText(typeof stack === 'string' ? stack : messageOf(thrown), chars),
    ...others.map(([what, other]) => {
      const text = read(other, 'stack');
      return `[${what}]: ${cutText(typeof text === 'string' && text !== '' ? text : messageOf(other), each)}`;
    }),
  ].join('\n');
}

/** For `[error 3]: ` and the end of a line. */
const OTHER_CHARS = 16;

/** Names that say nothing beyond the code. */
const ORDINARY = new Set([
  '',
  'Error',
  'HostError',
  'RetryableError',
  'UnknownOutcomeError',
  'StopError',
]);

function boundedDetails(given: unknown): Record<string, unknown> {
  const made = toJson(given);
  if (!made.ok)
    return { detailsLeftOut: `${rooted('details', made.issue.path)} ${made.issue.message}` };
  const bytes = Buffer.byteLength(JSON.stringify(made.value));
  // Half of what the wire takes: name and causes must fit beside it.
  if (bytes > bounds.detailsBytes / 2) {
    return { detailsLeftOut: `${bytes} bytes; at most ${bounds.detailsBytes / 2} are kept` };
  }
  const plain = typeof made.value === 'object' && made.value !== null && !isArray(made.value);
  if (plain) return made.value as Record<string, unknown>;
  const wrapped = { value: made.value };
  return isDeeperThan(wrapped, bounds.valueDepth)
    ? { detailsLeftOut: `details are nested deeper than ${bounds.valueDepth - 1} levels` }
    : wrapped;
}

function causesOf(thrown: unknown): unknown[] {
  const causes: unknown[] = [];
  const seen = new Set<unknown>([thrown]);
  let cause = read(thrown, 'cause');
  while (cause !== undefined && causes.length < CAUSES && !seen.has(cause)) {
    seen.add(cause);
    causes.push(cause);
    cause = read(cause, 'cause');
  }
  return causes;
}

/** What an AggregateError is made of. */
function partsOf(thrown: unknown): readonly unknown[] {
  const parts = read(thrown, 'errors');
  try {
    return isArray(parts) ? parts.slice(0, CAUSES) : [];
  } catch {
    return []; // A proxy.
  }
}

function brief(thrown: unknown, folders: readonly string[] | undefined): unknown {
  const name = read(thrown, 'name');
  const code = read(thrown, 'code');
  return {
    message: cutText(
      read(thrown, 'message') === '' ? ofParts(thrown) : messageOf(thrown),
      CAUSE_CHARS,
    ),
    ...(typeof name === 'string' && !ORDINARY.has(name) ? { name: cutText(name, CODE_CHARS) } : {}),
    ...(typeof code === 'string' ? { code: cutText(code, CODE_CHARS) } : {}),
    ...placesOf(thrown, folders, CAUSE_FRAMES),
  };
}

/** Node says nothing of a connection that failed for each address of a name: its parts do. */
function ofParts(thrown: unknown): string {
  const parts = partsOf(thrown);
  return (parts.length === 0 ? [thrown] : parts).map(messageOf).join('; ');
}

function isArray(thing: unknown): thing is unknown[] {
  try {
    return Array.isArray(thing); // Throws for a revoked proxy.
  } catch {
    return false;
  }
}

function duration(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= bounds.durationMs
    ? Math.ceil(value)
    : undefined;
}
