import * as z from 'zod';
import { bounds } from './limits.ts';
import { durationMs, instant, poolName, queryInteger } from './names.ts';
import { parseTypeKey, SEGMENT, typeNameProblem } from './type-key.ts';

/** Keys: their kinds, what they may be limited to, and how they are made, listed and revoked. */

export const keyKinds = [
  'task-producer',
  'task-worker',
  'task-operator',
  'metrics',
  'admin',
  'inference',
  'sdk',
] as const;
export type KeyKind = (typeof keyKinds)[number];
/** Every key begins with this; nothing else does. */
export const KEY_PREFIX = 'il_';

/** More than any fleet needs of one key, few enough to be compared with every call. */
const LISTED_MAX = 100;
const PER_MINUTE_MAX = 1_000_000;
const PREFIX = new RegExp(`^${SEGMENT}$`);

const keyType = z
  .string()
  .max(bounds.typeChars)
  .refine(
    (text) => parseTypeKey(text) !== undefined || typeNameProblem(text) === undefined,
    'must be a type, or a type with its version as in demo/hello@1',
  )
  .meta({
    pattern: `^${SEGMENT}(?:/${SEGMENT})*(?:@[1-9][0-9]{0,9})?$`,
    examples: ['demo/hello', 'demo/hello@1'],
  });

/** What a key may be limited to; what is not named is not limited. */
export const keyLimits = z.strictObject({
  /** Calls a minute, as a token bucket. Reports on attempts and presence do not count. */
  requestsPerMinute: z.int().min(1).max(PER_MINUTE_MAX).optional(),
  pools: z.array(poolName).min(1).max(LISTED_MAX).optional(),
  /** `demo/hello`: every version; `demo/hello@1`: that one. */
  types: z.array(keyType).min(1).max(LISTED_MAX).optional(),
  /** Worker ids that it may speak for begin so. */
  workerIdPrefix: z
    .string()
    .max(bounds.workerIdChars)
    .regex(PREFIX, 'must be letters, digits, ".", "_" and "-", beginning with a letter or digit')
    .optional(),
});
export type KeyLimits = z.infer<typeof keyLimits>;

const LIMIT_NAMES = ['requestsPerMinute', 'pools', 'types', 'workerIdPrefix'] as const;

/** What binds a key of that kind. A limit that binds nothing would be believed: it is refused. */
export const bindingLimits: Readonly<Record<KeyKind, readonly (keyof KeyLimits)[]>> = {
  'task-producer': ['requestsPerMinute', 'pools', 'types'],
  'task-worker': LIMIT_NAMES,
  'task-operator': LIMIT_NAMES,
  metrics: ['requestsPerMinute'],
  // It could make itself a key without the others.
  admin: ['requestsPerMinute'],
  inference: ['requestsPerMinute'],
  sdk: ['requestsPerMinute'],
};

/**
 * Control characters, and what turns the direction of the text that follows, as the inside of a character class: names stand
 * in lists, logs and journals, which people read on terminals.
 */
export const UNPRINTABLE = '\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069';
const PRINTABLE = `^[^${UNPRINTABLE}]+$`;

export const newKeyRequest = z
  .strictObject({
    // What else is refused (`keyNameProblem`) no pattern says briefly: a name that holds what looks like a key.
    name: z
      .string()
      .min(1)
      .max(200)
      .meta({ openapi: { type: 'string', minLength: 1, maxLength: 200, pattern: PRINTABLE } }),
    kind: z.enum(keyKinds),
    /** From then on it is refused. Default: never. */
    expiresAt: instant.optional(),
    /** The same, counted from when it is made; one of the two. */
    expiresInMs: durationMs.min(1).optional(),
    limits: keyLimits.optional(),
  })
  .superRefine(({ kind, expiresAt, expiresInMs, limits }, ctx) => {
    if (expiresAt !== undefined && expiresInMs !== undefined)
      ctx.addIssue({
        code: 'custom',
        path: ['expiresInMs'],
        message: 'says the same as expiresAt: send one of them',
      });
    const binding: readonly string[] = bindingLimits[kind];
    for (const name of LIMIT_NAMES)
      if (limits?.[name] !== undefined && !binding.includes(name))
        ctx.addIssue({
          code: 'custom',
          path: ['limits', name],
          message:
            kind === 'admin'
              ? 'does not bind an admin key, which makes keys of any kind'
              : `does not bind a key of kind ${kind}; what does: ${binding.join(', ')}`,
        });
  })
  .meta({
    id: 'NewKeyRequest',
    // The rules above, for readers of the document.
    not: { required: ['expiresAt', 'expiresInMs'] },
    if: {
      properties: { kind: { enum: keyKinds.filter((kind) => bindingLimits[kind].length === 1) } },
    },
    // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
    then: { properties: { limits: { propertyNames: { const: 'requestsPerMinute' } } } },
    else: {
      if: { properties: { kind: { const: 'task-producer' } } },
      // biome-ignore lint/suspicious/noThenProperty: see above
      then: { properties: { limits: { propertyNames: { enum: bindingLimits['task-producer'] } } } },
    },
  });
export type NewKeyRequest = z.infer<typeof newKeyRequest>;

/** A key as it is shown: never itself, never its hash. */
export const keyView = z
  .looseObject({
    id: z.string(),
    name: z.string(),
    kind: z.string(),
    project: z.string(),
    createdAt: z.string(),
    /** `usable`, `expired`, `revoked`. */
    state: z.string(),
    expiresAt: z.string().optional(),
    revokedAt: z.string().optional(),
    /** Exact while the control plane runs; what a killed one had not written yet (a minute) is missing. */
    lastUsedAt: z.string().optional(),
    limits: z.looseObject({}).optional(),
  })
  .meta({ id: 'KeyView' });
export type KeyView = z.infer<typeof keyView>;

/** The only answer that ever holds a key. */
export const newKeyAnswer = keyView
  .extend({ key: z.string(), state: z.string().optional() })
  .meta({ id: 'NewKeyAnswer' });
export type NewKeyAnswer = z.infer<typeof newKeyAnswer>;

export const keysQuery = z.object({
  cursor: z.string().max(1_000).optional(),
  limit: queryInteger(1, bounds.pageMax, bounds.pageDefault).default(bounds.pageDefault),
});

export const keyList = z
  .looseObject({ keys: z.array(keyView), cursor: z.string().optional() })
  .meta({ id: 'KeyList' });
export type KeyList = z.infer<typeof keyList>;
