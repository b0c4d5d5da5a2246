import * as z from 'zod';
import { bounds } from './limits.ts';
import { SEGMENT, TYPE_PATTERN, typeNameProblem } from './type-key.ts';

export { parseTypeKey, typeKey, typeNameProblem } from './type-key.ts';

/** Names of the wire. Case matters everywhere: `demo/hello` and `demo/Hello` are two types. */

/** For checks without a schema too (`plain-calls.ts`). */
export const POOL_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:-]*(?:\/[A-Za-z0-9][A-Za-z0-9._:-]*)*$/;
export const WORKER_ID_PATTERN = new RegExp(`^${SEGMENT}$`);

/** A task type: segments joined by `/`, at most 200 characters, no version in it. */
export const typeName = z
  .string()
  .max(bounds.typeChars, `must have at most ${bounds.typeChars} characters`)
  .superRefine((value, ctx) => {
    const why = typeNameProblem(value);
    if (why) ctx.addIssue({ code: 'custom', message: why });
  })
  .meta({ id: 'TypeName', pattern: TYPE_PATTERN.source, examples: ['demo/hello'] });

export const schemaVersion = z
  .int('must be an integer from 1')
  .min(1, 'must be an integer from 1')
  .meta({ examples: [1] });

export const poolName = z
  .string()
  .max(bounds.poolChars)
  .regex(POOL_PATTERN, 'must be segments of letters, digits, ".", "_", "-" and ":", joined by "/"');

export const workerId = z
  .string()
  .max(bounds.workerIdChars)
  .regex(
    WORKER_ID_PATTERN,
    'must be letters, digits, ".", "_" and "-", beginning with a letter or digit',
  );

export const labels = z
  .preprocess(
    (value, ctx) => {
      // The schema library would drop this name without a word.
      if (value !== null && typeof value === 'object' && Object.hasOwn(value, '__proto__'))
        ctx.addIssue({ code: 'custom', path: ['__proto__'], message: 'is not a name for a label' });
      return value;
    },
    z
      .record(
        z.string().min(1).max(bounds.labelNameChars),
        z.string('must be a string').max(bounds.labelValueChars),
      )
      .refine(
        (map) => Object.keys(map).length <= bounds.labels,
        `must have at most ${bounds.labels} keys`,
      ),
  )
  .meta({
    type: 'object',
    additionalProperties: { type: 'string', maxLength: bounds.labelValueChars },
    maxProperties: bounds.labels,
    propertyNames: {
      type: 'string',
      minLength: 1,
      maxLength: bounds.labelNameChars,
      not: { const: '__proto__' },
    },
  });

/** Ids look like `tsk_01j…`: a lower-case kind, `_`, letters and digits. */
export const anyId = z
  .string()
  .max(100)
  .regex(/^[a-z]+_[A-Za-z0-9]+$/, 'must look like tsk_… or att_…');

/** A value that the other side made and we only hand back: session, request and action ids, tokens. */
export const opaque = z.string().min(1).max(bounds.keyChars);

export const durationMs = z.int().min(0).max(bounds.durationMs);

/** RFC 3339, UTC. */
export const instant = z.iso.datetime({
  message: 'must be an RFC 3339 instant in UTC, such as 2026-01-31T12:00:00.000Z',
});

/** Whole numbers in an address are digits: an empty text or `1e3` is none. Callers may give a number. */
export function queryInteger(min: number, max: number, preset?: number) {
  return z
    .preprocess(
      (value) => (typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value),
      z.int().min(min).max(max),
    )
    .meta({
      openapi: {
        type: 'integer',
        minimum: min,
        maximum: max,
        ...(preset !== undefined && { default: preset }),
      },
    });
}
