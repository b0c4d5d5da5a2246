/** `interlock-node-sdk`: submit tasks, await them, serve them. Runs on Node.js 20 and newer. */
import { type ClientOptions, openClient } from './client/open-client.ts';
import { Operator } from './client/task-operator.ts';
import { Producer } from './client/task-producer.ts';
import { systemClock } from './system/clock.ts';
import { systemRandom } from './system/random.ts';
import { proxyFromEnvironment } from './wire/proxy.ts';

/**
 * Submits tasks and sees what becomes of them.
 *
 *   const producer = new TaskProducer({ serviceUrl, key });
 *   const { id } = await producer.submit('demo/hello', 1, { name: 'Ada' });
 *   const task = await producer.await(id);   // task.status, task.result
 */
export class TaskProducer extends Producer {
  readonly #close: () => Promise<void>;

  /** Throws a `TaskError` where the options cannot be used. */
  constructor(options: ClientOptions) {
    const { client, close } = open(options);
    super(client);
    this.#close = close;
  }

  /** Ends its connections. Idle ones do not keep a process alive. */
  close(): Promise<void> {
    return this.#close();
  }
}

/** Acts on tasks that need a person: retry, resolve; workers, types, doctor, keys. */
export class TaskOperator extends Operator {
  readonly #close: () => Promise<void>;

  /** Throws a `TaskError` where the options cannot be used. */
  constructor(options: ClientOptions) {
    const { client, close } = open(options);
    super(client);
    this.#close = close;
  }

  /** Ends its connections. Idle ones do not keep a process alive. */
  close(): Promise<void> {
    return this.#close();
  }
}

function open(options: ClientOptions) {
  const proxy = options.proxy ?? proxyFromEnvironment(process.env);
  return openClient({ ...options, proxy }, { clock: systemClock(), random: systemRandom() });
}

export type { ClientOptions } from './client/open-client.ts';
export type { Submission, SubmitOptions, TaskRef } from './client/request.ts';
export type { SubmitOutcome } from './client/submit-many.ts';
export type { CancelOptions, SubmittedTask } from './client/task-producer.ts';
export type { AwaitOptions, EventOptions } from './client/task-reads.ts';
export { TaskError, type TaskEvent, type TaskStatus, type TaskView } from './contract/index.ts';
export {
  defineHandler,
  type HandlerContext,
  RetryableError,
  UnknownOutcomeError,
} from './handler/index.ts';
export {
  type HandleOptions,
  TaskWorker,
  type TaskWorkerOptions,
} from './sdk/task-worker.ts';
export type { KeySource } from './wire/key.ts';
export type { WorkerEnd, WorkerStatus } from './worker/worker.ts';
