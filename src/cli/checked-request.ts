import type { z } from 'zod';
import { pathText, policyRequest, TaskError } from '../contract/index.ts';

/** What a policy may hold, in the words of `--policy name=value`. */
export const policyNames: readonly string[] = Object.entries(policyRequest.shape).flatMap(
  ([name]) => (name === 'backoff' ? backoffNames().map((part) => `backoff.${part}`) : [name]),
);

/** Checks what was put together from flags before it is sent; throws `INVALID_REQUEST` with the paths. */
export function checkedRequest<T>(schema: z.ZodType<T>, value: object): T {
  const given = Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({
    path: pathText(issue.path),
    message: words(issue),
  }));
  throw new TaskError(
    'INVALID_REQUEST',
    `The request is not valid: ${issues.map(({ path, message }) => `${path || 'it'} ${message}`).join('; ')}.`,
    { hint: 'Correct the fields named above.', details: { issues } },
  );
}

/** A clause that follows the path: `must be at least 1`. */
function words(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'too_small':
      return issue.origin === 'number' || issue.origin === 'int'
        ? `must be at least ${issue.minimum}`
        : issue.message;
    case 'too_big':
      return issue.origin === 'number' || issue.origin === 'int'
        ? `must be at most ${issue.maximum}`
        : issue.message;
    case 'unrecognized_keys': {
      const strange = issue.keys.map((key) => JSON.stringify(key)).join(', ');
      const known = issue.path[0] === 'policy' ? `; it may hold ${policyNames.join(', ')}` : '';
      return `has no field ${strange}${known}`;
    }
    case 'invalid_type':
      return `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`;
    default:
      return issue.message;
  }
}

function backoffNames(): string[] {
  return Object.keys(policyRequest.shape.backoff.unwrap().shape);
}
