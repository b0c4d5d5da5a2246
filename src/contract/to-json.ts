import { Fault, type JsonIssue, numberProblem, pathText } from './json-fault.ts';
import { bounds } from './limits.ts';

export type JsonMade =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issue: JsonIssue };

/**
 * What JSON makes of a value (`toJSON` honoured, `undefined` as `null`, lone surrogates as U+FFFD), as a
 * fresh plain value. What JSON would silently lose or bend is an issue with its path instead: NaN,
 * infinities, integers beyond 2^53, BigInt, functions, symbols, Map, Set, cycles, endless nesting.
 */
export function toJson(value: unknown): JsonMade {
  try {
    return { ok: true, value: make(value, [], new Set()) };
  } catch (fault) {
    if (fault instanceof Fault) return { ok: false, issue: fault.issue };
    return { ok: false, issue: { path: '', message: `could not be read: ${wordsOf(fault)}` } };
  }
}

/**
 * A copy of a value that JSON gives back as it is: plain objects and lists, whole texts, numbers without a doubt. `undefined`:
 * ask `toJson`, which takes more and names what is wrong. A tenth of its price.
 */
export function copyPlain(value: unknown): unknown {
  try {
    return copied(value, CALLS_DEEP);
  } catch {
    return undefined;
  }
}

function copied(value: unknown, left: number): unknown {
  switch (typeof value) {
    case 'boolean':
      return value;
    case 'string':
      return value.isWellFormed() ? value : undefined;
    case 'number':
      if (value === 0) return 0;
      return Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;
    case 'object':
      break;
    default:
      return undefined;
  }
  if (value === null) return null;
  if (left === 0 || typeof (value as { toJSON?: unknown }).toJSON === 'function') return undefined;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const item of value) {
      const made = copied(item, left - 1);
      if (made === undefined) return undefined;
      list.push(made);
    }
    return list;
  }
  const above = Object.getPrototypeOf(value);
  if (above !== Object.prototype && above !== null) return undefined;
  const plain: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[name];
    if (item === undefined) continue;
    const made = copied(item, left - 1);
    if (made === undefined || name === '__proto__' || !name.isWellFormed()) return undefined;
    plain[name] = made;
  }
  return plain;
}

/** Anything can be thrown, also what cannot be made a text. */
function wordsOf(fault: unknown): string {
  try {
    return String(fault instanceof Error ? fault.message : fault);
  } catch {
    return 'it threw something that has no text';
  }
}

/** Whether more than `max` arrays and objects of a JSON value lie in one another. */
export function isDeeperThan(value: unknown, max: number): boolean {
  return (
    depthPasses(value, Math.min(max, CALLS_DEEP)) && (max <= CALLS_DEEP || levelsPass(value, max))
  );
}

/** By calls: most values are a few levels deep. */
function depthPasses(value: unknown, left: number): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (left <= 0) return true;
  if (Array.isArray(value)) {
    for (const inner of value) if (depthPasses(inner, left - 1)) return true;
    return false;
  }
  for (const name of Object.keys(value))
    if (depthPasses((value as Record<string, unknown>)[name], left - 1)) return true;
  return false;
}

/** Calls would take too much of the stack for a value that is endless. */
const CALLS_DEEP = 32;

function levelsPass(value: unknown, max: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    const next: unknown[] = [];
    for (const item of level)
      if (item !== null && typeof item === 'object') {
        if (depth >= max) return true;
        for (const inner of Object.values(item)) next.push(inner);
      }
    level = next;
  }
  return false;
}

function make(input: unknown, path: (string | number)[], open: Set<object>): unknown {
  let value = input;
  if (
    value !== null &&
    typeof value === 'object' &&
    typeof (value as { toJSON?: unknown }).toJSON === 'function'
  ) {
    value = (value as { toJSON(key: string): unknown }).toJSON(String(path.at(-1) ?? ''));
  }
  const fail = (message: string): never => {
    throw new Fault({ path: pathText(path), message });
  };
  switch (typeof value) {
    case 'undefined':
      return null;
    case 'boolean':
      return value;
    case 'string':
      return value.toWellFormed();
    case 'number':
      if (!Number.isFinite(value)) return fail(`is ${value}, which JSON cannot hold`);
      if (value === 0) return 0;
      return numberProblem(String(value)) === undefined
        ? value
        : fail(`is ${value}, an integer beyond 2^53: return a string`);
    case 'bigint':
      return fail('is a BigInt, which JSON cannot hold: return a string');
    case 'function':
      return fail('is a function, which JSON cannot hold');
    case 'symbol':
      return fail('is a symbol, which JSON cannot hold');
    default:
      break;
  }
  const object = value as object | null;
  if (object === null) return null;
  if (object instanceof Map || object instanceof Set) {
    return fail(
      `is a ${object instanceof Map ? 'Map' : 'Set'}, which JSON would turn into {}: return an array or an object`,
    );
  }
  if (object instanceof BigInt) return make(object.valueOf(), path, open);
  if (object instanceof Number || object instanceof String || object instanceof Boolean)
    return make(object.valueOf(), path, open);
  if (open.has(object)) return fail('refers to itself (a cycle)');
  if (open.size >= bounds.valueDepth)
    return fail(`is nested deeper than ${bounds.valueDepth} levels`);
  open.add(object);
  let made: unknown;
  if (Array.isArray(object)) {
    made = Array.from(object, (item, i) => within(path, i, () => make(item, path, open)));
  } else {
    const plain: Record<string, unknown> = {};
    for (const [name, item] of Object.entries(object)) {
      if (item === undefined) continue;
      const wellFormed = name.toWellFormed();
      if (Object.hasOwn(plain, wellFormed))
        return fail(`has two names that are both ${JSON.stringify(wellFormed)} as text`);
      // defineProperty: a name such as __proto__ is data here, never a prototype.
      Object.defineProperty(plain, wellFormed, {
        value: within(path, name, () => make(item, path, open)),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    made = plain;
  }
  open.delete(object);
  return made;
}

function within<T>(path: (string | number)[], part: string | number, work: () => T): T {
  path.push(part);
  const done = work();
  path.pop();
  return done;
}
