import * as z from 'zod';
import { bounds, limits } from './limits.ts';
import { durationMs, instant } from './names.ts';

/** How often, how long and how fast a task is tried; given at submit, complete ever after. */
export interface Policy {
  readonly maxAttempts: number;
  readonly backoff: {
    readonly initialMs: number;
    readonly factor: number;
    readonly maxMs: number;
    /** Share by which a delay is varied either way: `delay × (1 ± jitter)`. */
    readonly jitter: number;
  };
  /** From the handler's start; `null`: none. */
  readonly attemptTimeoutMs: number | null;
  readonly leaseMs: number;
  /** How long the sweeper waits after expiry where nobody else could run the task. */
  readonly lostGraceMs: number;
  /** From each time the task becomes queued; `null`: none. */
  readonly queueTimeoutMs: number | null;
  /** RFC 3339; `null`: none. */
  readonly deadlineAt: string | null;
}

export const defaultPolicy: Policy = {
  maxAttempts: 5,
  backoff: { initialMs: 5_000, factor: 2, maxMs: 120_000, jitter: 0.2 },
  attemptTimeoutMs: 3_600_000,
  leaseMs: limits.leaseMs.default,
  lostGraceMs: 300_000,
  queueTimeoutMs: null,
  deadlineAt: null,
};

/** As submitted: every field may be missing, an unknown one is refused. */
export const policyRequest = z
  .strictObject({
    maxAttempts: z.int().min(1).max(bounds.maxAttempts).optional(),
    backoff: z
      .strictObject({
        initialMs: durationMs.optional(),
        factor: z.number().min(1).max(100).optional(),
        maxMs: durationMs.optional(),
        jitter: z.number().min(0).max(1).optional(),
      })
      .optional(),
    attemptTimeoutMs: durationMs.min(1).nullable().optional(),
    leaseMs: durationMs.min(1).optional(),
    lostGraceMs: durationMs.optional(),
    queueTimeoutMs: durationMs.min(1).nullable().optional(),
    deadlineAt: instant.nullable().optional(),
  })
  .meta({ id: 'PolicyRequest' });

export type PolicyRequest = z.infer<typeof policyRequest>;

/** Fills what is missing. `leaseMs` is a wish; the control plane keeps it within its limits. */
export function completePolicy(
  request: PolicyRequest = {},
  defaults: Policy = defaultPolicy,
): Policy {
  return {
    maxAttempts: request.maxAttempts ?? defaults.maxAttempts,
    backoff: {
      initialMs: request.backoff?.initialMs ?? defaults.backoff.initialMs,
      factor: request.backoff?.factor ?? defaults.backoff.factor,
      maxMs: request.backoff?.maxMs ?? defaults.backoff.maxMs,
      jitter: request.backoff?.jitter ?? defaults.backoff.jitter,
    },
    attemptTimeoutMs:
      request.attemptTimeoutMs === undefined ? defaults.attemptTimeoutMs : request.attemptTimeoutMs,
    leaseMs: request.leaseMs ?? defaults.leaseMs,
    lostGraceMs: request.lostGraceMs ?? defaults.lostGraceMs,
    queueTimeoutMs:
      request.queueTimeoutMs === undefined ? defaults.queueTimeoutMs : request.queueTimeoutMs,
    deadlineAt: request.deadlineAt === undefined ? defaults.deadlineAt : request.deadlineAt,
  };
}

/** Reader's form of a policy in an answer: what is missing has its default, what is new is ignored. */
export const policyRead = z.object({
  maxAttempts: z.int().default(defaultPolicy.maxAttempts),
  backoff: z
    .object({
      initialMs: z.number().default(defaultPolicy.backoff.initialMs),
      factor: z.number().default(defaultPolicy.backoff.factor),
      maxMs: z.number().default(defaultPolicy.backoff.maxMs),
      jitter: z.number().default(defaultPolicy.backoff.jitter),
    })
    .default(defaultPolicy.backoff),
  attemptTimeoutMs: z.number().nullable().default(defaultPolicy.attemptTimeoutMs),
  leaseMs: z.number().default(defaultPolicy.leaseMs),
  lostGraceMs: z.number().default(defaultPolicy.lostGraceMs),
  queueTimeoutMs: z.number().nullable().default(null),
  deadlineAt: z.string().nullable().default(null),
});
