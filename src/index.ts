/** `interlock-node-sdk`: submit tasks, await them, serve them. Runs on Node.js 20 and newer. */
import {
  type ClientOptions,
  openClient,
  type ProducerClientOptions,
} from './client/open-client.ts';
import type { StoredTask } from './client/outbox/outbox.ts';
import { Operator } from './client/task-operator.ts';
import { Producer } from './client/task-producer.ts';
import { clientChecks } from './sdk/client-options.ts';
import {
  checkDoor,
  checkOptions,
  judgedElsewhere,
  mustBeFlag,
  type OptionChecks,
} from './sdk/options.ts';
import { type OutboxSettings, outboxSettings, systemOutbox } from './sdk/outbox.ts';
import { systemClock } from './system/clock.ts';
import { systemRandom } from './system/random.ts';
import { proxyFromEnvironment } from './wire/proxy.ts';

/** With `outbox`, submissions are kept on disk while the control plane is away, and submitted later. */
export interface ProducerOptions extends ProducerClientOptions {
  /** A folder, or with callbacks; see `docs/operations.md`. */
  readonly outbox?: string | OutboxSettings | undefined;
}

/**
 * Submits tasks and sees what becomes of them.
 *
 *   const producer = new TaskProducer({ serviceUrl, key });
 *   const { id } = await producer.submit('demo/hello', 1, { name: 'Ada' });
 *   const task = await producer.await(id);   // task.status, task.result
 *
 * With an outbox a submission is a task, or stored:
 *
 *   const producer = new TaskProducer({ serviceUrl, key, outbox: '/var/lib/my-app/outbox' });
 *   const made = await producer.submit('demo/hello', 1, { name: 'Ada' });
 *   if (made.stored) console.log('later', made.idempotencyKey, made.why.message);
 */
export const TaskProducer = class TaskProducer<
  Stored extends StoredTask = never,
> extends Producer<Stored> {
  readonly #close: () => Promise<void>;

  /** Throws a `TaskError` where the options cannot be used. */
  constructor(options: ProducerOptions) {
    checkOptions('TaskProducer', options, producerChecks);
    const { outbox: wished, ...given } = options;
    const settings = wished === undefined ? undefined : outboxSettings(wished);
    const { client, again, close } = open(given);
    if (settings === undefined) {
      super(client);
      this.#close = close;
      return;
    }
    // The outbox has a client of its own: what that is answered is no news to it.
    const outbox = systemOutbox(client, settings, given.project);
    super(
      again(() => outbox.answered()),
      outbox,
    );
    // What an earlier process left goes out at once; a folder that cannot be used is told by the next submit.
    outbox.start().catch(() => {});
    this.#close = async () => {
      await outbox.stop();
      await close();
    };
  }

  /**
   * Ends its connections; idle ones do not keep a process alive. Calls that wait or are under way end with `CLIENT_CLOSED`, as
   * does what is called afterwards. What is in the outbox stays there, for the next producer
   * with that folder, or `interlock tasks outbox flush`.
   */
  close(): Promise<void> {
    return this.#close();
  }
} as TaskProducerConstructor;

/** @typeParam Stored what a submission may be instead of a task: `StoredTask` with an outbox, else nothing. */
export interface TaskProducer<Stored extends StoredTask = never> extends Producer<Stored> {
  close(): Promise<void>;
}

/** What is constructed depends on whether an outbox is given: with one, a submission may be stored. */
export interface TaskProducerConstructor {
  new (options: ProducerClientOptions & { readonly outbox?: undefined }): TaskProducer;
  /** The type parameter only tells the two apart for `extends TaskProducer<StoredTask>`. */
  new <_Stored extends StoredTask>(options: ProducerOptions): TaskProducer<StoredTask>;
}

/** Acts on tasks that need a person: retry, resolve; workers, types, doctor, keys. */
export class TaskOperator extends Operator {
  readonly #close: () => Promise<void>;

  /** Throws a `TaskError` where the options cannot be used. */
  constructor(options: ClientOptions) {
    checkOptions('TaskOperator', options, clientChecks);
    const { client, close } = open(options);
    super(client);
    this.#close = close;
  }

  /** Ends its connections; idle ones do not keep a process alive. Calls that wait, and later ones, end with `CLIENT_CLOSED`. */
  close(): Promise<void> {
    return this.#close();
  }
}

const producerChecks: OptionChecks<ProducerOptions> = {
  ...clientChecks,
  batch: mustBeFlag,
  outbox: judgedElsewhere,
};

function open(options: ProducerClientOptions) {
  checkDoor(options);
  const proxy = options.proxy ?? proxyFromEnvironment(process.env);
  return openClient({ ...options, proxy }, { clock: systemClock(), random: systemRandom() });
}

export type { ClientOptions, ProducerClientOptions } from './client/open-client.ts';
export type { StoredSubmission, StoredTask } from './client/outbox/outbox.ts';
export type { Submission, SubmitOptions, TaskRef } from './client/request.ts';
export type { SubmitOutcome } from './client/submit-many.ts';
export type { CancelOptions, StoredOutcome, SubmittedTask } from './client/task-producer.ts';
export type { AwaitOptions, EventOptions } from './client/task-reads.ts';
export { TaskError, type TaskEvent, type TaskStatus, type TaskView } from './contract/index.ts';
export {
  defineHandler,
  type HandlerContext,
  HostError,
  RetryableError,
  UnknownOutcomeError,
} from './handler/index.ts';
export type { WorkerEnd } from './sdk/agent-words.ts';
export type { OutboxSettings } from './sdk/outbox.ts';
export {
  type HandleOptions,
  TaskWorker,
  type TaskWorkerOptions,
} from './sdk/task-worker.ts';
export type { KeySource } from './wire/key.ts';
export type { WorkerStatus } from './worker/worker.ts';
