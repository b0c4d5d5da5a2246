import type { z } from 'zod';
import { issueWords } from '../client/issue-words.ts';
import { pathText, TaskError } from '../contract/index.ts';

/** Checks what was put together from flags before it is sent; throws `INVALID_REQUEST` with the paths. */
export function checkedRequest<T>(schema: z.ZodType<T>, value: object): T {
  const given = Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({
    path: pathText(issue.path),
    message: issueWords(issue),
  }));
  throw new TaskError(
    'INVALID_REQUEST',
    `The request is not valid: ${issues.map(({ path, message }) => `${typedAs(path)} ${message}`).join('; ')}.`,
    { hint: 'Correct what is named above.', details: { issues } },
  );
}

/** `notBeforeAt` → `--not-before`: what whoever reads it has typed. A policy is typed by its paths. */
function typedAs(path: string): string {
  const [, field = '', inside = ''] = /^(\w*)\.?(.*)$/.exec(path) ?? [];
  const flag = Object.hasOwn(FLAGS, field) ? FLAGS[field] : undefined;
  return flag === undefined ? path || 'it' : `${flag}${inside && ` ${inside}`}`;
}

const FLAGS: Readonly<Record<string, string>> = {
  input: '--input',
  idempotencyKey: '--idempotency-key',
  effectKey: '--effect-key',
  pool: '--pool',
  priority: '--priority',
  notBeforeAt: '--not-before',
  labels: '--label',
};
