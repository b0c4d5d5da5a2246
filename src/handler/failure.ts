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
import { ownFrames } from './place.ts';

export interface Thrown {
  readonly brand: ErrorBrand | undefined;
  readonly failure: TaskFailure;
  /** Says more than "I was interrupted": counts also after the handler was told to stop. */
  readonly opinion: boolean;
  /** For the task's log; `undefined` where there is none. */
  readonly stack: string | undefined;
}

const CODE = /^[A-Z][A-Z0-9_]*$/;
const CODE_CHARS = 100;
/** Causes and parts of an AggregateError that are told, and characters of each. */
const CAUSES = 3;
const CAUSE_CHARS = 500;

/**
 * Reads what was thrown. Never throws.
 * @param folder the handlers', for the places in its code.
 */
export function readThrown(thrown: unknown, folder: string): Thrown {
  const brand = read(thrown, ERROR_BRAND) as ErrorBrand | undefined;
  const own = ownCode(thrown);
  const stack = read(thrown, 'stack');
  const details = detailsOf(thrown, brand === undefined ? stack : undefined, folder);
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
    stack: typeof stack === 'string' ? cutText(stack, bounds.messageChars) : undefined,
  };
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

/** The error's own `details`, and its name, place in the code, causes and parts beside them. */
function detailsOf(
  thrown: unknown,
  stack: unknown,
  folder: string,
): Record<string, unknown> | undefined {
  const given = read(thrown, 'details');
  const details: Record<string, unknown> = given === undefined ? {} : boundedDetails(given);
  const name = read(thrown, 'name');
  if (typeof name === 'string' && !ORDINARY.has(name)) {
    details.name ??= cutText(name, CODE_CHARS);
  }
  if (typeof stack === 'string') {
    const message = read(thrown, 'message');
    const frames = ownFrames(stack, typeof message === 'string' ? message : '', folder);
    if (frames.length > 0) details.stack ??= frames;
  }
  const causes = causesOf(thrown);
  if (causes.length > 0) details.causes ??= causes;
  const parts = read(thrown, 'errors');
  if (isArray(parts) && parts.length > 0) details.errors ??= parts.slice(0, CAUSES).map(brief);
  return Object.keys(details).length === 0 ? undefined : details;
}

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
    causes.push(brief(cause));
    cause = read(cause, 'cause');
  }
  return causes;
}

function brief(thrown: unknown): unknown {
  const code = read(thrown, 'code');
  return {
    message: cutText(messageOf(thrown), CAUSE_CHARS),
    ...(typeof code === 'string' ? { code: cutText(code, CODE_CHARS) } : {}),
  };
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
