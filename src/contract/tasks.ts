import * as z from 'zod';
import { bounds } from './limits.ts';
import {
  anyId,
  instant,
  labels,
  opaque,
  poolName,
  queryInteger,
  schemaVersion,
  typeName,
} from './names.ts';
import { policyRead, policyRequest } from './policy.ts';
import { inlineValue } from './values.ts';

/** What a producer and an operator send and get. */

export const taskStatuses = [
  'queued',
  'running',
  'succeeded',
  'failed',
  'outcome-unknown',
  'cancelled',
  'expired',
] as const;
export type TaskStatus = (typeof taskStatuses)[number];
export const terminalStatuses: ReadonlySet<string> = new Set<TaskStatus>([
  'succeeded',
  'failed',
  'outcome-unknown',
  'cancelled',
  'expired',
]);

export const submitRequest = z
  .strictObject({
    type: typeName,
    schemaVersion,
    input: inlineValue,
    /** The same key with the same request returns the first task; with another one it is a conflict. */
    idempotencyKey: opaque.optional(),
    /** The same on every attempt; handlers pass it on. Default: the task id. */
    effectKey: opaque.optional(),
    pool: poolName.optional(),
    priority: z.int().min(-100).max(100).optional(),
    notBeforeAt: instant.optional(),
    policy: policyRequest.optional(),
    labels: labels.optional(),
    traceparent: z.string().max(200).optional(),
  })
  .meta({ id: 'SubmitRequest' });
export type SubmitRequest = z.infer<typeof submitRequest>;

/** A batch is read item by item, so that one bad item refuses only itself. */
export const submitBatchRequest = z.array(z.unknown()).meta({ id: 'SubmitBatchRequest' });
export const batchAnswer = z
  .array(z.object({ status: z.int(), body: z.unknown() }))
  .meta({ id: 'BatchAnswer' });

export const taskErrorView = z.looseObject({
  code: z.string(),
  message: z.string(),
  retryable: z.boolean().default(false),
  /** `begun`: the attempt, or one before it of which nobody has said what became of it, was past its gate: its effect may have taken place. */
  effect: z.string().optional(),
  /** `false`: its worker knows that the handler was never called in that attempt. */
  begun: z
    .boolean()
    .optional()
    .meta({ description: '`false`: the handler was never called in that attempt.' }),
  details: z.record(z.string(), z.unknown()).optional(),
  attempt: z.int().optional(),
});
export type TaskErrorView = z.infer<typeof taskErrorView>;

export const progressView = z.looseObject({
  percent: z.number().optional(),
  message: z.string().optional(),
  at: z.string().optional(),
});

export const taskView = z
  .looseObject({
    id: z.string(),
    type: z.string(),
    schemaVersion: z.int(),
    /** A status that this version does not know is shown as it is and is not terminal. */
    status: z.string(),
    pool: z.string(),
    priority: z.int(),
    labels: z.record(z.string(), z.string()),
    effectKey: z.string(),
    policy: policyRead,
    attempts: z.int(),
    undelivered: z.int(),
    /** Of the newest journal entry. */
    seq: z.int(),
    createdAt: z.string(),
    startedAt: z.string().optional(),
    finishedAt: z.string().optional(),
    /** Who has it, or had it last. */
    worker: z.string().optional(),
    progress: progressView.optional(),
    cancelRequested: z.boolean().optional(),
    result: z.unknown().optional(),
    error: taskErrorView.optional(),
    /** In words: why it is not running. */
    waitingFor: z.string().optional(),
    input: z.unknown().optional(),
    idempotencyKey: z.string().optional(),
    /** As submitted: the trace that the task belongs to. */
    traceparent: z.string().optional(),
    notBeforeAt: z.string().optional(),
    /** An outcome that came after the attempt had ended as lost; `resolve` can take it. */
    lateReport: z.looseObject({ op: z.string(), at: z.string() }).optional(),
  })
  .meta({ id: 'TaskView' });
export type TaskView = z.infer<typeof taskView>;

export const eventKinds = [
  'submitted',
  'leased',
  'started',
  'effect-begun',
  'succeeded',
  'failed',
  'unknown',
  'cancelled',
  'lost',
  'released',
  'requeued',
  'expired',
  'cancel-requested',
  'retried',
  'resolved',
  'late-report',
] as const;
export type EventKind = (typeof eventKinds)[number];

export const taskEvent = z
  .looseObject({
    /** 1, 2, 3 … per task, no gaps. */
    seq: z.int().min(1),
    at: z.string(),
    kind: z.string(),
    attemptId: z.string().optional(),
    fence: z.int().optional(),
    /** Who caused it: `worker:…`, `key:…`, `sweeper`. */
    by: z.string(),
    data: z.record(z.string(), z.unknown()).default({}),
  })
  .meta({ id: 'TaskEvent' });
export type TaskEvent = z.infer<typeof taskEvent>;

export const taskList = z
  .looseObject({ tasks: z.array(taskView), cursor: z.string().optional() })
  .meta({ id: 'TaskList' });
export type TaskList = z.infer<typeof taskList>;
export const eventList = z
  .looseObject({ events: z.array(taskEvent), seq: z.int() })
  .meta({ id: 'EventList' });
export type EventList = z.infer<typeof eventList>;

export const taskLogLine = z.looseObject({
  /** Cursor: pass the last one as `after`. */
  cursor: z.string(),
  at: z.string(),
  level: z.string(),
  text: z.string(),
  attempt: z.int(),
});
export const logList = z
  .looseObject({ lines: z.array(taskLogLine), cursor: z.string().optional() })
  .meta({ id: 'LogList' });
export type LogList = z.infer<typeof logList>;

const texts = z.union([z.string(), z.array(z.string())]);

/** Query of `GET /tasks`. */
export const listQuery = z.object({
  status: texts.optional().meta({
    openapi: { type: 'array', items: { type: 'string', enum: [...taskStatuses] } },
    description: 'Only these statuses. Repeat it, or separate them by commas.',
    example: ['queued', 'running'],
  }),
  type: typeName.optional(),
  schemaVersion: queryInteger(1, Number.MAX_SAFE_INTEGER).optional(),
  pool: poolName.optional(),
  label: texts.optional().meta({
    openapi: { type: 'array', items: { type: 'string' } },
    description: '`name=value`, or `name` for any value. May be repeated: all of them must fit.',
    example: ['customer=4711'],
  }),
  since: instant.optional().meta({ description: 'Submitted at this instant or later.' }),
  until: instant.optional().meta({ description: 'Submitted before this instant.' }),
  needs: z.enum(['attention']).optional().meta({
    description: '`attention`: only tasks that wait for a person.',
  }),
  cursor: z.string().max(1_000).optional().meta({
    description: '`cursor` of the page before this one.',
  }),
  limit: queryInteger(1, bounds.pageMax, bounds.pageDefault)
    .default(bounds.pageDefault)
    .meta({ description: 'Tasks in a page; a page of large results ends sooner.' }),
  include: texts.optional().meta({
    openapi: { type: 'array', items: { type: 'string', enum: ['input', 'result'] } },
    description: 'Parts that a list leaves out otherwise. Repeat it, or separate them by commas.',
    example: ['result'],
  }),
});
export type ListQuery = z.infer<typeof listQuery>;

export const eventsQuery = z.object({
  after: queryInteger(0, Number.MAX_SAFE_INTEGER, 0)
    .default(0)
    .meta({ description: 'Only entries with a larger `seq`.' }),
  waitMs: queryInteger(0, bounds.eventsWaitMs, 0)
    .default(0)
    .meta({ description: 'Where there is none: wait so long for one, in milliseconds.' }),
  limit: queryInteger(1, bounds.pageMax, bounds.pageMax).default(bounds.pageMax),
});
export const logsQuery = z.object({
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'is no cursor of this call')
    .optional()
    .meta({ description: 'Only lines after the one with this `cursor`.', example: '0' }),
  limit: queryInteger(1, bounds.pageMax, bounds.pageMax).default(bounds.pageMax),
});

const reason = z.string().min(1).max(bounds.reasonChars);

export const cancelRequest = z
  .object({
    reason: reason.optional(),
    actionId: opaque.optional(),
    ifSeq: z.int().min(0).optional(),
  })
  .meta({ id: 'CancelRequest' });
export type CancelRequest = z.infer<typeof cancelRequest>;

export const retryRequest = z
  .object({
    actionId: opaque,
    ifSeq: z.int().min(0),
    /** How many more attempts are granted. */
    attempts: z.int().min(1).max(1_000).default(1),
    /** Needed where an effect may already have taken place (`error.effect: "begun"`). */
    acceptRepeatedEffect: z.boolean().optional(),
    reason,
  })
  .meta({ id: 'RetryRequest' });
export type RetryRequest = z.infer<typeof retryRequest>;

export const resolveRequest = z
  .object({
    actionId: opaque,
    ifSeq: z.int().min(0),
    resolution: z.enum(['succeeded', 'failed', 'retry', 'late-report']),
    /** With `succeeded`: the result to record; default `null`. */
    result: inlineValue.optional(),
    reason,
  })
  .meta({ id: 'ResolveRequest' });
export type ResolveRequest = z.infer<typeof resolveRequest>;

export const taskPath = z.object({ id: anyId });
/** SSE `task` of `GET /events`: a hint to read the task again. */
export const taskHint = z.looseObject({ taskId: z.string(), seq: z.int(), status: z.string() });
