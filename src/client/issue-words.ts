import type { z } from 'zod';
import { policyRequest } from '../contract/policy.ts';
import { submitRequest } from '../contract/tasks.ts';
import { nearest } from '../core/nearest.ts';

/** What a policy may hold: `backoff.initialMs` … */
export const policyNames: readonly string[] = Object.keys(policyRequest.shape).flatMap((name) =>
  name === 'backoff' ? backoffNames().map((part) => `backoff.${part}`) : [name],
);

/** What is wrong with a request, as a clause that follows the path: `must be at least 1`. */
export function issueWords(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'too_small':
      return bound(issue, 'at least', issue.minimum);
    case 'too_big':
      return bound(issue, 'at most', issue.maximum);
    case 'unrecognized_keys': {
      const strange = issue.keys.map((key) => JSON.stringify(key)).join(', ');
      return `has no field ${strange}${instead(issue)}`;
    }
    case 'invalid_type':
      return `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`;
    default:
      return issue.message;
  }
}

/** The contract's own words stay; those of the schema library are no sentence. */
function bound(
  { origin, message }: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig,
  which: string,
  limit: number | bigint,
): string {
  if (!/^Too (small|big)/.test(message)) return message;
  if (origin === 'number' || origin === 'int') return `must be ${which} ${limit}`;
  return origin === 'string'
    ? `must have ${which} ${limit} ${Number(limit) === 1 ? 'character' : 'characters'}`
    : message;
}

function instead({ keys, path }: z.core.$ZodIssueUnrecognizedKeys): string {
  const inPolicy = path[0] === 'policy';
  if (path.length > 0 && !inPolicy) return '';
  const meant = nearest(keys[0] ?? '', inPolicy ? namesIn(path) : Object.keys(submitRequest.shape));
  if (meant !== undefined) return ` (is ${meant} meant?)`;
  return inPolicy ? `; it may hold ${policyNames.join(', ')}` : '';
}

/** Of a policy, or of its backoff. */
function namesIn(path: readonly PropertyKey[]): readonly string[] {
  return path.length > 1 ? backoffNames() : Object.keys(policyRequest.shape);
}

function backoffNames(): string[] {
  return Object.keys(policyRequest.shape.backoff.unwrap().shape);
}
