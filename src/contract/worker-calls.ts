import * as z from 'zod';
import { claimWaitMs } from './claim-wait.ts';
import { effectGateRead, effectSafetyRead } from './effects.ts';
import {
  keptHandlers,
  keptHandlersMeta,
  unservedHandlers,
  unservedHandlersMeta,
} from './handler-files.ts';
import { isDeeperThan } from './json.ts';
import { bounds, limits } from './limits.ts';
import {
  durationMs,
  instant,
  opaque,
  poolName,
  schemaVersion,
  typeName,
  workerId,
} from './names.ts';
import { policyRead } from './policy.ts';
import { codeHash, notBegun } from './report-fields.ts';
import { startInOutcome } from './start-in-outcome.ts';
import { inlineValue, jsonValue, tooDeep } from './values.ts';

/** What a worker sends and gets. Requests are read leniently: an unknown field is ignored. */

const messageText = z.string().max(bounds.messageCharsTaken);
const details = z
  .record(z.string(), z.unknown())
  .refine((map) => !isDeeperThan(map, bounds.valueDepth), tooDeep);

export const workerStates = ['ready', 'full', 'draining', 'offline'] as const;
export type WorkerState = (typeof workerStates)[number];

export const handlerInfo = z
  .object({
    type: typeName,
    schemaVersion,
    effectSafety: effectSafetyRead,
    effectGate: effectGateRead,
    inputSchema: z.unknown().optional(),
    outputSchema: z.unknown().optional(),
  })
  .meta({ id: 'HandlerInfo' });
export type HandlerInfo = z.infer<typeof handlerInfo>;

/** A type that a worker leaves alone for a while. */
export const pausedType = z.object({
  type: typeName,
  schemaVersion,
  /** In words: what happened here. */
  why: z.string().max(bounds.reasonChars),
  /** How much longer; 0: it is tried again with its next task, one at a time. */
  forMs: durationMs,
  /** Tries in a row that failed. */
  failures: z.int().min(1),
});
export type PausedType = z.infer<typeof pausedType>;

/** A handler that was killed and does not go: it keeps its slot, and nothing is said or renewed for its attempt. */
export const stuckHandler = z.object({
  type: typeName,
  schemaVersion,
  taskId: opaque,
  attemptId: opaque,
  /** Processes of it, as far as they are known. */
  pids: z.array(z.int()).max(bounds.stuck).optional(),
  /** An earlier process of the worker had started it. */
  earlierSession: z.boolean().optional(),
});
export type StuckHandler = z.infer<typeof stuckHandler>;

export const presenceRequest = z
  .object({
    sessionId: opaque,
    earlierSessions: z.array(opaque).max(bounds.earlierSessions).optional(),
    state: z.enum(workerStates),
    slots: z.object({
      max: z.int().min(0).max(bounds.slots),
      busy: z.int().min(0).max(bounds.slots),
    }),
    pools: z.array(poolName).min(1).max(bounds.pools),
    /** Tells whether `handlers` must be sent again. */
    handlersHash: z.string().max(200),
    handlers: z.array(handlerInfo).max(bounds.handlers).optional(),
    versions: z.record(z.string().max(100), z.string().max(200)),
    spool: z.object({
      pending: z.int().min(0),
      bytes: z.int().min(0),
      oldestMs: z.int().min(0).nullable(),
      ok: z.boolean(),
    }),
    /** In words: why it claims nothing now. */
    notClaiming: z.string().max(bounds.reasonChars).optional(),
    /** Types that it does not claim now, each with its reason. */
    pausedTypes: z.array(pausedType).max(bounds.pausedTypes).optional(),
    /** Types that it serves with older code than lies in its handlers folder, each with its reason. */
    keptHandlers: keptHandlers.optional().catch(undefined).meta(keptHandlersMeta),
    /** Files of its handlers folder that it cannot serve, each with its reason. */
    unservedHandlers: unservedHandlers.optional().catch(undefined).meta(unservedHandlersMeta),
    stuck: z.array(stuckHandler).max(bounds.stuck).optional(),
    sentAt: instant.optional(),
  })
  .meta({ id: 'PresenceRequest' });
export type PresenceRequest = z.infer<typeof presenceRequest>;

export const presenceAnswer = z
  .looseObject({
    serverTime: z.string(),
    project: z.string(),
    presentAfterMs: z.number().default(15_000),
    offlineAfterMs: z.number().default(45_000),
    needHandlers: z.boolean().default(false),
    drain: z.boolean().default(false),
  })
  .meta({ id: 'PresenceAnswer' });
export type PresenceAnswer = z.infer<typeof presenceAnswer>;

export const want = z.object({
  type: typeName,
  schemaVersion,
  slots: z.int().min(0).max(bounds.slots),
  effectSafety: effectSafetyRead,
  effectGate: effectGateRead,
});
export type Want = z.infer<typeof want>;

export const claimRequest = z
  .object({
    workerId,
    sessionId: opaque,
    earlierSessions: z.array(opaque).max(bounds.earlierSessions).optional(),
    /** 128 fresh random bits; the same again returns the same attempts. */
    requestId: opaque,
    pools: z.array(poolName).min(1).max(bounds.pools),
    want: z.array(want).max(bounds.wantedTypes),
    /** At most `limits.claimMax`. */
    max: z.int().min(0).max(bounds.slots),
    leaseMs: durationMs.min(1).optional(),
    /** Where there is nothing to claim: wait for it so long. */
    waitMs: claimWaitMs,
  })
  .meta({ id: 'ClaimRequest' });
export type ClaimRequest = z.infer<typeof claimRequest>;

/** The least that is needed to give an attempt back that cannot be read whole. */
export const attemptIdentity = z.object({
  taskId: z.string().min(1),
  attemptId: z.string().min(1),
  fence: z.int().min(1),
  leaseToken: z.string().min(1),
});
export type AttemptIdentity = z.infer<typeof attemptIdentity>;

export const attempt = z
  .looseObject({
    ...attemptIdentity.shape,
    leaseMs: z.number().positive(),
    /** 1 for the first; attempts that were not delivered do not count. */
    attempt: z.int().min(1),
    type: z.string(),
    schemaVersion: z.int(),
    input: jsonValue,
    effectKey: z.string(),
    effectSafety: effectSafetyRead,
    effectGate: effectGateRead,
    pool: z.string(),
    /** Not bounded here: only a wrong JSON type makes an attempt undecodable. */
    labels: z.record(z.string(), z.string()).default({}),
    policy: policyRead,
    checkpoint: z.unknown().optional(),
    traceparent: z.string().optional(),
    cancelRequested: z.boolean().default(false),
  })
  .meta({ id: 'Attempt' });
export type Attempt = z.infer<typeof attempt>;

export const claimAnswer = z
  .looseObject({
    /** Decoded one by one with `attempt`, so that one bad item costs only itself. */
    attempts: z.array(z.unknown()),
    pollAfterMs: z.number().default(1_000),
    serverTime: z.string().optional(),
    drain: z.boolean().default(false),
    /** It had waited so long when these were granted: their leases count from the claim's send and this. */
    waitedMs: z.number().min(0).optional().catch(undefined),
  })
  .meta({ id: 'ClaimAnswer' });
export type ClaimAnswer = z.infer<typeof claimAnswer>;

/** `fail.error`, `unknown.error`. */
export const failure = z.object({
  code: z
    .string()
    .max(100)
    .regex(/^[A-Z][A-Z0-9_]*$/, 'must be upper case letters, digits and "_"'),
  message: messageText,
  retryable: z.boolean().default(false),
  retryAfterMs: durationMs.optional(),
  details: details.optional(),
});

export const lostReasons = [
  'worker-restarted',
  'host-died',
  'timeout',
  'lease',
  'drain',
  'cancel',
] as const;
export type LostReason = (typeof lostReasons)[number];

const four = { taskId: opaque, attemptId: opaque, fence: z.int().min(1), leaseToken: opaque };
const levels = ['debug', 'info', 'warn', 'error'] as const;
const level = z
  .enum(levels)
  .catch('info')
  .meta({
    openapi: { default: 'info', examples: levels },
    description: '`debug`, `info`, `warn` or `error`; anything else counts as `info`.',
  });

/** One schema per op; `op` and `attemptId` stand in the body on both routes. */
export const reportSchemas = {
  renew: z.object({ op: z.literal('renew'), ...four }),
  start: z.object({ op: z.literal('start'), ...four, sessionId: opaque, codeHash }),
  effect: z.object({ op: z.literal('effect'), ...four, sessionId: opaque, codeHash }),
  progress: z.object({
    op: z.literal('progress'),
    ...four,
    n: z.int().min(1),
    percent: z.number().min(0).max(100).optional(),
    message: messageText.optional(),
    checkpoint: inlineValue.optional(),
  }),
  log: z.object({
    op: z.literal('log'),
    ...four,
    n: z.int().min(1),
    lines: z
      .array(z.object({ at: z.string().max(64), level, text: z.string().max(limits.logLineBytes) }))
      .max(bounds.logLines),
  }),
  complete: z.object({
    op: z.literal('complete'),
    ...four,
    result: inlineValue,
    start: startInOutcome,
  }),
  fail: z.object({
    op: z.literal('fail'),
    ...four,
    error: failure,
    begun: notBegun,
    start: startInOutcome,
  }),
  unknown: z.object({ op: z.literal('unknown'), ...four, error: failure, start: startInOutcome }),
  cancelled: z.object({
    op: z.literal('cancelled'),
    ...four,
    message: messageText.optional(),
    details: details.optional(),
  }),
  lost: z.object({
    op: z.literal('lost'),
    ...four,
    reason: z.enum(lostReasons),
    begun: z.boolean(),
    killed: z.boolean().optional(),
    message: messageText.optional(),
    details: details.optional(),
  }),
  release: z.object({
    op: z.literal('release'),
    ...four,
    /** A word: `drain`, `no-handler`, `undecodable`, `no-slot`, `handler-changed`, `host-unavailable` … */
    reason: z.string().min(1).max(bounds.reasonWordChars),
    message: messageText.optional(),
  }),
} as const;

export type Op = keyof typeof reportSchemas;
export const ops = Object.keys(reportSchemas) as Op[];
/** Ends the attempt. A terminal report other than `release` is durable before it is sent. */
export const terminalOps: ReadonlySet<string> = new Set<Op>([
  'complete',
  'fail',
  'unknown',
  'cancelled',
  'lost',
  'release',
]);

export const report = z
  .discriminatedUnion('op', [
    reportSchemas.renew,
    reportSchemas.start,
    reportSchemas.effect,
    reportSchemas.progress,
    reportSchemas.log,
    reportSchemas.complete,
    reportSchemas.fail,
    reportSchemas.unknown,
    reportSchemas.cancelled,
    reportSchemas.lost,
    reportSchemas.release,
  ])
  .meta({ id: 'Report' });
export type Report = z.infer<typeof report>;
export type ReportOf<O extends Op> = Extract<Report, { op: O }>;
export type TerminalReport = ReportOf<
  'complete' | 'fail' | 'unknown' | 'cancelled' | 'lost' | 'release'
>;

export const reportAnswer = z
  .looseObject({
    accepted: z.literal(true),
    attemptId: z.string(),
    fence: z.int(),
    op: z.string(),
    /** Of the renewed lease, counted from the send of the report. */
    leaseMs: z.number().positive().optional(),
    cancelRequested: z.boolean().optional(),
    replayed: z.boolean().optional(),
  })
  .meta({ id: 'ReportAnswer' });
export type ReportAnswer = z.infer<typeof reportAnswer>;

/** Read item by item on both sides. */
export const reportBatchRequest = z
  .object({ reports: z.array(z.unknown()) })
  .meta({ id: 'ReportBatchRequest' });
export const reportBatchAnswer = z
  .object({ results: z.array(z.unknown()) })
  .meta({ id: 'ReportBatchAnswer' });
export const batchResult = z.object({ status: z.int(), body: z.unknown() });

export const hintsQuery = z.object({ workerId, sessionId: opaque });
