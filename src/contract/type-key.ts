import { bounds } from './limits.ts';

/**
 * Names of task types, without a schema library: handler hosts load this file. Case matters everywhere:
 * `demo/hello` and `demo/Hello` are two types.
 */

/** One segment of a type or pool name. */
export const SEGMENT = '[A-Za-z0-9][A-Za-z0-9._-]*';
export const TYPE_PATTERN = new RegExp(`^${SEGMENT}(?:/${SEGMENT})*$`);

/** Why a text is no task type, as a sentence; `undefined` if it is one. */
export function typeNameProblem(value: string): string | undefined {
  if (TYPE_PATTERN.test(value)) return undefined;
  const at = value.lastIndexOf('@');
  if (at > 0 && /^\d+$/.test(value.slice(at + 1))) {
    return `must not hold a version: send type "${value.slice(0, at)}" and schemaVersion ${value.slice(at + 1)}`;
  }
  if (value.includes('@')) return 'must not hold "@": the version goes into schemaVersion';
  return 'must be segments of letters, digits, ".", "_" and "-" (each beginning with a letter or digit), joined by "/"';
}

/** `demo/hello@1`: how a type and its version are written for people and in hints. */
export function typeKey(type: string, version: number): string {
  return `${type}@${version}`;
}

/** Reads `demo/hello@1`; `undefined` if it is not that. */
export function parseTypeKey(text: string): { type: string; schemaVersion: number } | undefined {
  const at = text.lastIndexOf('@');
  const type = text.slice(0, at);
  const digits = text.slice(at + 1);
  if (
    at < 1 ||
    !/^[1-9]\d{0,9}$/.test(digits) ||
    typeNameProblem(type) ||
    type.length > bounds.typeChars
  )
    return undefined;
  return { type, schemaVersion: Number(digits) };
}
