import type { z } from 'zod';
import { pathText } from '../contract/json.ts';
import type { Refusal } from './answer.ts';
import { invalid } from './body.ts';

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: Refusal };

/** Checks a value against its schema; every fault with its path, up to a bound. */
export function check<S extends z.ZodType>(schema: S, value: unknown): Checked<z.infer<S>> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { ok: true, value: parsed.data };
  const issues: { path: string; message: string }[] = [];
  for (const issue of parsed.error.issues) collect(issue, [], issues);
  return { ok: false, refusal: invalid(issues.slice(0, ISSUES_MAX)) };
}

/** The same for bodies that come by the thousand. @param plain takes what it knows, and leaves the rest to the schema. */
export function checkPlain<T>(
  plain: (value: unknown) => T | undefined,
  schema: z.ZodType<T>,
  value: unknown,
): Checked<T> {
  const taken = plain(value);
  return taken === undefined ? check(schema, value) : { ok: true, value: taken };
}

/** More than a person reads, few enough for an answer. */
const ISSUES_MAX = 20;

function collect(
  issue: z.core.$ZodIssue,
  above: readonly PropertyKey[],
  into: { path: string; message: string }[],
): void {
  const path = [...above, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    for (const name of issue.keys)
      into.push({ path: pathText([...path, name]), message: 'is not a field of this call' });
    return;
  }
  into.push({ path: pathText(path), message: sentence(issue.message) });
}

/** zod's own sentences begin with a capital; ours follow the name of the field. */
function sentence(message: string): string {
  return /^[A-Z][a-z]/.test(message)
    ? `is not valid: ${message[0]?.toLowerCase()}${message.slice(1)}`
    : message;
}
