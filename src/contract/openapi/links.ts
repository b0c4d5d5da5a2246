import type { Op } from '../worker-calls.ts';

/**
 * What can be done with an answer: OpenAPI links, by the call that gave it. Where a body is named, it holds only what the
 * answer brings; the rest is the caller's.
 */

export interface Link {
  readonly operationId: string;
  readonly description: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly requestBody?: Readonly<Record<string, unknown>>;
}
type Links = Readonly<Record<string, Link>>;

export const reportId = (op: Op) => `report${op[0]?.toUpperCase()}${op.slice(1)}`;

const ID = '$response.body#/id';

function ofTask(): Links {
  const parameters = { id: ID };
  return {
    get: { operationId: 'getTask', description: 'Look at the task', parameters },
    events: { operationId: 'taskEvents', description: 'Its journal', parameters },
    logs: { operationId: 'taskLogs', description: 'Its log lines', parameters },
    cancel: { operationId: 'cancelTask', description: 'Ask to cancel it', parameters },
    retry: {
      operationId: 'retryTask',
      description: 'Run it again, if nothing happened to it meanwhile',
      parameters,
      requestBody: { ifSeq: '$response.body#/seq' },
    },
    resolve: {
      operationId: 'resolveTask',
      description: 'Say what became of it, if nothing happened to it meanwhile',
      parameters,
      requestBody: { ifSeq: '$response.body#/seq' },
    },
  };
}

/** From a claim to the reports on its first attempt. */
function ofClaim(ops: readonly Op[]): Links {
  const at = '$response.body#/attempts/0';
  const links = ops.map((op): [string, Link] => [
    op,
    {
      operationId: reportId(op),
      description: `Report \`${op}\` on the first attempt`,
      parameters: { attemptId: `${at}/attemptId` },
      requestBody: {
        taskId: `${at}/taskId`,
        fence: `${at}/fence`,
        leaseToken: `${at}/leaseToken`,
        ...(op === 'start' || op === 'effect' ? { sessionId: '$request.body#/sessionId' } : {}),
      },
    },
  ]);
  return Object.fromEntries(links);
}

/** From one report on an attempt to the next. */
function ofReport(next: readonly Op[]): Links {
  const links = next.map((op): [string, Link] => [
    op,
    {
      operationId: reportId(op),
      description: `Report \`${op}\` on the same attempt`,
      parameters: { attemptId: '$request.path.attemptId' },
      requestBody: {
        taskId: '$request.body#/taskId',
        fence: '$request.body#/fence',
        leaseToken: '$request.body#/leaseToken',
      },
    },
  ]);
  return Object.fromEntries(links);
}

const worker = (workerId: string, sessionId?: string): Links => ({
  get: {
    operationId: 'getWorker',
    description: 'Look at the worker',
    parameters: { workerId },
  },
  drain: {
    operationId: 'drainWorker',
    description: 'Ask it to drain',
    parameters: { workerId },
  },
  ...(sessionId && {
    hints: {
      operationId: 'workerHints',
      description: 'Listen to its hints',
      parameters: { workerId, sessionId },
    },
  }),
});

/** By the id of the call. @param ops all there are. */
export function linksOf(id: string, ops: readonly Op[]): Links | undefined {
  return table(ops)[id];
}

function table(ops: readonly Op[]): Record<string, Links> {
  const task = ofTask();
  return {
    submit: {
      ...task,
      claim: {
        operationId: 'claim',
        description: 'Ask for attempts of its type in its pool',
        requestBody: {
          pools: ['$response.body#/pool'],
          want: [
            {
              type: '$response.body#/type',
              schemaVersion: '$response.body#/schemaVersion',
              slots: 1,
            },
          ],
          max: 1,
        },
      },
    },
    getTask: task,
    cancelTask: task,
    retryTask: task,
    resolveTask: task,
    listTasks: {
      first: {
        operationId: 'getTask',
        description: 'Look at the newest task',
        parameters: { id: '$response.body#/tasks/0/id' },
      },
      next: {
        operationId: 'listTasks',
        description: 'The next page',
        parameters: { cursor: '$response.body#/cursor' },
      },
    },
    taskEvents: {
      next: {
        operationId: 'taskEvents',
        description: 'What comes after',
        parameters: { id: '$request.path.id', after: '$response.body#/seq' },
      },
    },
    taskLogs: {
      next: {
        operationId: 'taskLogs',
        description: 'What comes after',
        parameters: { id: '$request.path.id', after: '$response.body#/cursor' },
      },
    },
    present: {
      ...worker('$request.path.workerId', '$request.body#/sessionId'),
      claim: {
        operationId: 'claim',
        description: 'Ask for attempts with the same session',
        requestBody: {
          workerId: '$request.path.workerId',
          sessionId: '$request.body#/sessionId',
          pools: '$request.body#/pools',
        },
      },
    },
    claim: {
      ...ofClaim(ops),
      task: {
        operationId: 'getTask',
        description: 'Look at the task of the first attempt',
        parameters: { id: '$response.body#/attempts/0/taskId' },
      },
    },
    [reportId('start')]: ofReport(
      ops.filter((op) => op !== 'start' && op !== 'effect' && op !== 'release'),
    ),
    listWorkers: worker('$response.body#/workers/0/workerId'),
    newKey: {
      revoke: {
        operationId: 'revokeKey',
        description: 'Revoke the key',
        parameters: { id: ID },
      },
    },
  };
}
