import * as z from 'zod';
import { limits as contractLimits } from './limits.ts';
import { workerId } from './names.ts';

export * from './keys.ts';

/** Discovery, doctor, workers and types; keys beside it. */

export const serviceInfo = z
  .looseObject({
    contracts: z.array(z.int()),
    serverTime: z.string(),
    limits: z.looseObject({
      inlineBytes: z.int(),
      batch: z.int().min(1),
      claimMax: z.int().min(1).catch(contractLimits.claimMax).meta({ later: true }),
      batchBytes: z.int().min(1),
      leaseMs: z.looseObject({ min: z.number(), default: z.number(), max: z.number() }),
      checkpointBytes: z.int(),
      logLineBytes: z.int(),
    }),
    /** Optional ops and abilities by name; what we do not know is ignored. */
    features: z.array(z.string()).default([]),
  })
  .meta({ id: 'ServiceInfo' });
export type ServiceInfo = z.infer<typeof serviceInfo>;

const counts = z.looseObject({
  ready: z.int(),
  full: z.int(),
  draining: z.int(),
  offline: z.int(),
});

export const doctorAnswer = z
  .looseObject({
    serverTime: z.string(),
    project: z.string(),
    keyKind: z.string(),
    /** Of the key that asks; absent: it does not expire. */
    keyExpiresAt: z.string().optional(),
    queueDepth: z.int(),
    oldestQueuedMs: z.number().nullable(),
    workers: counts,
    /** Callbacks and hints not yet delivered. */
    outboxDebt: z.int(),
    /** Workers that are online and cannot do all they should, in words; the first of them. */
    troubles: z.array(z.looseObject({ workerId: z.string(), says: z.string() })).default([]),
  })
  .meta({ id: 'DoctorAnswer' });
export type DoctorAnswer = z.infer<typeof doctorAnswer>;

export const workerView = z
  .looseObject({
    workerId: z.string(),
    state: z.string(),
    /** The state in words: `full: all 2 slots are working`. */
    words: z.string(),
    slots: z.looseObject({ max: z.int(), busy: z.int() }),
    pools: z.array(z.string()),
    handlers: z.array(
      z.looseObject({
        type: z.string(),
        schemaVersion: z.int(),
        effectSafety: z.string(),
        effectGate: z.string(),
      }),
    ),
    versions: z.record(z.string(), z.string()),
    spool: z.looseObject({
      pending: z.int(),
      bytes: z.int(),
      oldestMs: z.number().nullable(),
      ok: z.boolean(),
    }),
    /** In words: why it claims nothing at all. */
    notClaiming: z.string().optional(),
    /** Types that it leaves alone for a while. */
    pausedTypes: z
      .array(
        z.looseObject({
          type: z.string(),
          schemaVersion: z.int(),
          why: z.string(),
          forMs: z.number(),
          failures: z.int(),
        }),
      )
      .optional(),
    /** Types that it serves with older code than lies in its handlers folder. */
    keptHandlers: z
      .array(
        z.looseObject({
          type: z.string(),
          schemaVersion: z.int(),
          why: z.string(),
          since: z.string(),
        }),
      )
      .optional(),
    /** Files of its handlers folder that it cannot serve. */
    unservedHandlers: z
      .array(
        z.looseObject({
          file: z.string(),
          type: z.string().optional(),
          schemaVersion: z.int().optional(),
          why: z.string(),
          since: z.string(),
        }),
      )
      .optional(),
    /** Handlers that were killed and do not go; each keeps a slot. */
    stuck: z
      .array(
        z.looseObject({
          type: z.string(),
          schemaVersion: z.int(),
          taskId: z.string(),
          attemptId: z.string(),
          pids: z.array(z.int()).optional(),
          earlierSession: z.boolean().optional(),
        }),
      )
      .optional(),
    lastSeenAt: z.string(),
    clockOffsetMs: z.number().optional(),
    drainRequested: z.boolean().optional(),
    /** What it is working on now. */
    attempts: z
      .array(
        z.looseObject({
          taskId: z.string(),
          attemptId: z.string(),
          type: z.string(),
          schemaVersion: z.int(),
          startedAt: z.string().optional(),
        }),
      )
      .optional(),
  })
  .meta({ id: 'WorkerView' });
export type WorkerView = z.infer<typeof workerView>;
export const workerList = z
  .looseObject({ workers: z.array(workerView) })
  .meta({ id: 'WorkerList' });
export type WorkerList = z.infer<typeof workerList>;

export const typeView = z.looseObject({
  type: z.string(),
  schemaVersion: z.int(),
  pools: z.array(z.string()),
  queued: z.int(),
  running: z.int(),
  oldestQueuedMs: z.number().nullable(),
  workers: z.array(z.string()),
  slots: z.int(),
  effectSafety: z.array(z.string()),
  inputSchema: z.unknown().optional(),
});
export const typeList = z.looseObject({ types: z.array(typeView) }).meta({ id: 'TypeList' });
export type TypeList = z.infer<typeof typeList>;

export const drainAnswer = z
  .looseObject({ workerId, drainRequested: z.boolean() })
  .meta({ id: 'DrainAnswer' });
