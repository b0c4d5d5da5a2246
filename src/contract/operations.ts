import type { z } from 'zod';
import type { ProblemCode } from './problems.ts';
import type { KeyKind } from './service.ts';
import * as service from './service.ts';
import * as tasks from './tasks.ts';
import * as worker from './worker-calls.ts';

/**
 * Every call of the contract, one line each: the control plane mounts its routes from this table, the
 * OpenAPI document is made from it. Adding a call is one line here and one route.
 */
export interface Operation {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the base path, with `{name}` for parameters. */
  readonly path: string;
  readonly summary: string;
  readonly tag: 'service' | 'producer' | 'operator' | 'worker' | 'operations';
  /** Kinds of key that may call it; `open`: no key is asked for. */
  readonly keys: readonly KeyKind[] | 'open';
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly answers: Readonly<Record<number, z.ZodType | 'sse' | 'json'>>;
  /** Does not count against the rate of its key: no lease may end because a limit was met. */
  readonly uncounted?: true;
  /** Problems beside those that every call can get. */
  readonly problems: readonly ProblemCode[];
}

const readers = ['task-producer', 'task-operator', 'admin'] as const;
const producers = ['task-producer', 'admin'] as const;
const operators = ['task-operator', 'admin'] as const;
const workers = ['task-worker'] as const;
/** Any kind but the one without Tasks authority. */
const authority = service.keyKinds.filter((kind) => kind !== 'sdk');

const table = [
  {
    id: 'discover',
    method: 'GET',
    path: '/',
    summary: 'What this control plane speaks and its limits',
    tag: 'service',
    keys: 'open',
    answers: { 200: service.serviceInfo },
    problems: [],
  },
  {
    id: 'openapi',
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document',
    tag: 'service',
    keys: 'open',
    answers: { 200: 'json' },
    problems: [],
  },

  {
    id: 'submit',
    method: 'POST',
    path: '/tasks',
    summary: 'Submit a task',
    tag: 'producer',
    keys: producers,
    body: tasks.submitRequest,
    answers: { 200: tasks.taskView, 201: tasks.taskView },
    problems: ['IDEMPOTENCY_CONFLICT', 'PAYLOAD_TOO_LARGE'],
  },
  {
    id: 'submitBatch',
    method: 'POST',
    path: '/tasks/batch',
    summary: 'Submit many tasks, each its own transaction',
    tag: 'producer',
    keys: producers,
    body: tasks.submitBatchRequest,
    answers: { 200: tasks.batchAnswer },
    problems: ['PAYLOAD_TOO_LARGE'],
  },
  {
    id: 'listTasks',
    method: 'GET',
    path: '/tasks',
    summary: 'List tasks, newest first',
    tag: 'producer',
    keys: readers,
    query: tasks.listQuery,
    answers: { 200: tasks.taskList },
    problems: [],
  },
  {
    id: 'getTask',
    method: 'GET',
    path: '/tasks/{id}',
    summary: 'One task',
    tag: 'producer',
    keys: readers,
    answers: { 200: tasks.taskView },
    problems: ['NOT_FOUND'],
  },
  {
    id: 'taskEvents',
    method: 'GET',
    path: '/tasks/{id}/events',
    summary: 'The journal of a task; waits for news with `waitMs`',
    tag: 'producer',
    keys: readers,
    query: tasks.eventsQuery,
    answers: { 200: tasks.eventList },
    problems: ['NOT_FOUND'],
  },
  {
    id: 'taskLogs',
    method: 'GET',
    path: '/tasks/{id}/logs',
    summary: 'Log lines of a task',
    tag: 'producer',
    keys: readers,
    query: tasks.logsQuery,
    answers: { 200: tasks.logList },
    problems: ['NOT_FOUND'],
  },
  {
    id: 'cancelTask',
    method: 'POST',
    path: '/tasks/{id}/cancel',
    summary: 'Ask to cancel: a queued task ends at once, a running one is asked to stop',
    tag: 'producer',
    keys: readers,
    body: tasks.cancelRequest,
    answers: { 200: tasks.taskView },
    problems: ['NOT_FOUND', 'TASK_TERMINAL', 'CONFLICT'],
  },
  {
    id: 'taskHints',
    method: 'GET',
    path: '/events',
    summary: 'Stream of `task` hints: read the task again',
    tag: 'producer',
    keys: readers,
    answers: { 200: 'sse' },
    problems: [],
  },

  {
    id: 'retryTask',
    method: 'POST',
    path: '/tasks/{id}/retry',
    summary: 'Run a failed, expired or cancelled task again',
    tag: 'operator',
    keys: operators,
    body: tasks.retryRequest,
    answers: { 200: tasks.taskView },
    problems: ['NOT_FOUND', 'CONFLICT'],
  },
  {
    id: 'resolveTask',
    method: 'POST',
    path: '/tasks/{id}/resolve',
    summary: 'Say what became of a task whose outcome is unknown',
    tag: 'operator',
    keys: operators,
    body: tasks.resolveRequest,
    answers: { 200: tasks.taskView },
    problems: ['NOT_FOUND', 'CONFLICT'],
  },
  {
    id: 'drainWorker',
    method: 'POST',
    path: '/workers/{workerId}/drain',
    summary: 'Ask the current session of a worker to drain',
    tag: 'operator',
    keys: operators,
    answers: { 200: service.drainAnswer },
    problems: ['NOT_FOUND'],
  },

  {
    id: 'present',
    method: 'PUT',
    path: '/workers/{workerId}',
    summary: 'A worker says who and how it is',
    tag: 'worker',
    keys: workers,
    uncounted: true,
    body: worker.presenceRequest,
    answers: { 200: worker.presenceAnswer },
    problems: ['SESSION_SUPERSEDED', 'CONFLICT'],
  },
  {
    id: 'claim',
    method: 'POST',
    path: '/claims',
    summary: 'Ask for attempts',
    tag: 'worker',
    keys: workers,
    body: worker.claimRequest,
    answers: { 200: worker.claimAnswer },
    problems: ['SESSION_SUPERSEDED', 'CONFLICT'],
  },
  {
    id: 'reportBatch',
    method: 'POST',
    path: '/attempts/batch',
    summary: 'Many reports, each its own transaction',
    tag: 'worker',
    keys: workers,
    uncounted: true,
    body: worker.reportBatchRequest,
    answers: { 200: worker.reportBatchAnswer },
    problems: ['PAYLOAD_TOO_LARGE'],
  },
  {
    id: 'report',
    method: 'POST',
    path: '/attempts/{attemptId}/{op}',
    summary: 'One report on an attempt',
    tag: 'worker',
    keys: workers,
    uncounted: true,
    body: worker.report,
    answers: { 200: worker.reportAnswer },
    problems: [
      'NOT_FOUND',
      'STALE_ATTEMPT',
      'LEASE_EXPIRED',
      'SESSION_SUPERSEDED',
      'NOT_RELEASABLE',
      'NOT_CANCELLING',
      'UNSUPPORTED_OPERATION',
      'PAYLOAD_TOO_LARGE',
    ],
  },
  {
    id: 'workerHints',
    method: 'GET',
    path: '/hints',
    summary: 'Stream of hints to a worker: wake, cancel, drain, ping',
    tag: 'worker',
    keys: workers,
    query: worker.hintsQuery,
    answers: { 200: 'sse' },
    problems: ['SESSION_SUPERSEDED', 'CONFLICT'],
  },

  {
    id: 'doctor',
    method: 'GET',
    path: '/doctor',
    summary: 'How the control plane is, as this key sees it',
    tag: 'operations',
    keys: authority,
    answers: { 200: service.doctorAnswer },
    problems: [],
  },
  {
    id: 'listWorkers',
    method: 'GET',
    path: '/workers',
    summary: 'Workers of the project',
    tag: 'operations',
    keys: readers,
    answers: { 200: service.workerList },
    problems: [],
  },
  {
    id: 'getWorker',
    method: 'GET',
    path: '/workers/{workerId}',
    summary: 'One worker',
    tag: 'operations',
    keys: readers,
    answers: { 200: service.workerView },
    problems: ['NOT_FOUND'],
  },
  {
    id: 'listTypes',
    method: 'GET',
    path: '/types',
    summary: 'Task types: what waits and who serves it',
    tag: 'operations',
    keys: readers,
    answers: { 200: service.typeList },
    problems: [],
  },
  {
    id: 'newKey',
    method: 'POST',
    path: '/keys',
    summary: 'Make a key for this project; it is shown once',
    tag: 'operations',
    keys: ['admin'],
    body: service.newKeyRequest,
    answers: { 201: service.newKeyAnswer },
    problems: [],
  },
  {
    id: 'listKeys',
    method: 'GET',
    path: '/keys',
    summary: 'Keys of the project, newest first; never a key itself',
    tag: 'operations',
    keys: ['admin'],
    query: service.keysQuery,
    answers: { 200: service.keyList },
    problems: [],
  },
  {
    id: 'revokeKey',
    method: 'DELETE',
    path: '/keys/{id}',
    summary: 'Revoke a key: from then on every call with it is 401',
    tag: 'operations',
    keys: ['admin'],
    answers: { 200: service.keyView },
    problems: ['NOT_FOUND', 'CONFLICT'],
  },
] as const satisfies readonly Operation[];

export type OperationId = (typeof table)[number]['id'];
export const operations: readonly (Operation & { readonly id: OperationId })[] = table.map(limited);

/** A key may be limited in its rate; who has none is not counted. */
function limited<T extends Operation>(operation: T): T {
  if (operation.keys === 'open' || operation.uncounted) return operation;
  return { ...operation, problems: [...operation.problems, 'RATE_LIMITED'] };
}

type Row<K extends OperationId> = Extract<(typeof table)[number], { id: K }>;
type Shape<T> = T extends z.ZodType ? z.infer<T> : unknown;
/** What a call is answered with where it succeeds. */
export type CallAnswer<K extends OperationId> = {
  [S in keyof Row<K>['answers']]: Shape<Row<K>['answers'][S]>;
}[keyof Row<K>['answers']];
