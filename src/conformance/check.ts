import { isDeepStrictEqual } from 'node:util';
import { Broken } from './case.ts';

/** Checks of a case. Each throws `Broken` with what was expected of what, and what came instead. */

/** @param says what is wrong where it does not hold, as a whole sentence. */
export function expect(holds: unknown, says: string): asserts holds {
  if (!holds) throw new Broken(says);
}

/** @param what the subject: `the task's status`. */
export function same(actual: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Broken(`${what} is ${shown(actual)}; expected is ${shown(expected)}.`);
}

export function oneOf(actual: unknown, allowed: readonly unknown[], what: string): void {
  if (allowed.some((value) => isDeepStrictEqual(actual, value))) return;
  throw new Broken(`${what} is ${shown(actual)}; allowed is ${allowed.map(shown).join(' or ')}.`);
}

export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > LONG ? `${text.slice(0, LONG)}…` : text;
}

const LONG = 400;
