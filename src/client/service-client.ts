/**
 * The calls of producers, operators and tools, one method each. A call goes on asking while nobody answers
 * or the peer is busy, honouring `Retry-After`, until its time is over; all of them may be repeated safely
 * (but `newKey`, which is sent once). What is no success is thrown as a `TaskError`.
 */
import {
  batchAnswer,
  type CancelRequest,
  type DoctorAnswer,
  doctorAnswer,
  drainAnswer,
  type EventList,
  eventList,
  type KeyList,
  type KeyView,
  keyList,
  keyView,
  type ListQuery,
  type LogList,
  limits,
  logList,
  type NewKeyAnswer,
  type NewKeyRequest,
  newKeyAnswer,
  type ResolveRequest,
  type RetryRequest,
  type ServiceInfo,
  type SubmitRequest,
  serviceInfo,
  TaskError,
  type TaskList,
  type TaskView,
  type TypeList,
  taskList,
  taskView,
  typeList,
  type WorkerList,
  type WorkerView,
  workerList,
  workerView,
} from '../contract/index.ts';
import { plainBatchAnswer } from '../contract/plain-answers.ts';
import { clientDefaults, wireDefaults, workerDefaults } from '../core/defaults.ts';
import { submitDefaults } from '../core/submit-defaults.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { Call, Door, Query } from '../wire/door.ts';
import type { HttpAnswer } from '../wire/judge.ts';
import type { KeySource } from '../wire/key.ts';
import { type CallOptions, checkCall } from './call-options.ts';
import { insist, Patience } from './patience.ts';
import { SubmitQueue } from './submit-queue.ts';
import { type BatchItems, refusesWhole, submitted } from './submitted.ts';
import { readTaskHints, type TaskHintListener } from './task-hints.ts';

export interface ServiceClientOptions {
  readonly door: Door;
  readonly clock: Clock;
  readonly random: Random;
  /** Of the door; read again once when it is answered 401. */
  readonly key?: KeySource | undefined;
  /** If given, the first call checks that the key belongs to it. */
  readonly project?: string | undefined;
  /** How long a call goes on asking [60 s]; 0: each call is made once. */
  readonly timeoutMs?: number | undefined;
  /** Submissions that come while others are under way go together, as one call [true]. */
  readonly batch?: boolean | undefined;
  /** Aborts when it is closed: then nothing is asked any more. */
  readonly closed: AbortSignal;
  /** Told of each success: the control plane is there. */
  readonly onAnswer?: (() => void) | undefined;
}

export type { CallOptions };

/** Filters and page of `GET /tasks`, all optional. */
export type TaskQuery = Partial<ListQuery>;

export class ServiceClient {
  readonly clock: Clock;
  readonly random: Random;
  readonly #options: ServiceClientOptions;
  #info: ServiceInfo | undefined;
  #checked: Promise<Unsuccessful | undefined> | undefined;
  #learnAgainAt = Number.NEGATIVE_INFINITY;
  readonly #queue: SubmitQueue;

  constructor(options: ServiceClientOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.random = options.random;
    this.#queue = new SubmitQueue(this, options.closed);
  }

  /** As people write the address. */
  get shown(): string {
    return this.#options.door.address.shown;
  }

  /** Contracts, limits and features. Asked for once and then remembered. */
  async discover(how?: CallOptions): Promise<ServiceInfo> {
    this.#info ??= await this.#get('/', serviceInfo, {}, how, { open: true });
    return this.#info;
  }

  /** The peer's limits as far as they are known, else those of the contract. */
  get limits(): ServiceInfo['limits'] {
    return this.#info?.limits ?? limits;
  }

  /** @returns `replayed`: this request had been accepted before. */
  async submit(
    request: SubmitRequest,
    how: CallOptions = {},
  ): Promise<{ task: TaskView; replayed: boolean }> {
    const { idempotencyKey } = request;
    const alone = this.#options.batch === false;
    const ticket = { text: JSON.stringify(request), idempotencyKey, alone };
    const { signal } = how;
    const once = (timeoutMs: number) => this.#queue.send(ticket, { timeoutMs, signal });
    const done = await insist(this.patience(how), workerDefaults.requestTimeoutMs, once);
    return { task: done.value, replayed: done.status === 200 };
  }

  /** One call with one submission, made once. @param text its body. */
  submitOnce(text: string, { timeoutMs, signal }: CallOptions): Promise<HttpAnswer<TaskView>> {
    return this.#once({ method: 'POST', path: '/tasks', text, ...submitted, timeoutMs, signal });
  }

  /**
   * One batch call, made once: the answers of its items, or what became of the call as a whole.
   * @param texts the items' bodies. @param how its `timeoutMs` is that of the call [10 s].
   */
  async submitBatch(
    texts: readonly string[],
    { timeoutMs, signal }: CallOptions,
  ): Promise<HttpAnswer<BatchItems>> {
    this.#learnLimits();
    const text = `[${texts.join(',')}]`;
    const call = { method: 'POST', path: '/tasks/batch', text, timeoutMs, signal } as const;
    const answer = await this.#once<BatchItems>({ ...call, ...itemsTaken });
    const { kind } = answer;
    if (kind === 'refused' && refusesWhole(answer.status)) this.#doubtLimits();
    return answer;
  }

  /** Batches begin with the contract's limits: nobody waits for those of the peer. */
  #learnLimits(): void {
    if (this.#info || this.clock.now() < this.#learnAgainAt) return;
    this.#learnAgainAt = this.clock.now() + submitDefaults.batchPauseMs;
    void this.discover({ timeoutMs: 0 }).catch(() => {});
  }

  /** It may take less by now than it told: asked again by the next batch, once in a while, for it may be something in this one. */
  #doubtLimits(): void {
    if (this.clock.now() >= this.#learnAgainAt) this.#info = undefined;
  }

  getTask(id: string, how?: CallOptions): Promise<TaskView> {
    return this.#get(taskPath(id), taskView, {}, how);
  }

  listTasks(query: TaskQuery = {}, how?: CallOptions): Promise<TaskList> {
    return this.#get('/tasks', taskList, query as Query, how, { maxBytes: wireDefaults.listBytes });
  }

  /** The journal after `after`; with `waitMs` (at most 30 s) it waits for news. */
  events(
    id: string,
    query: { after?: number; waitMs?: number; limit?: number } = {},
    how?: CallOptions,
  ): Promise<EventList> {
    const timeoutMs = workerDefaults.requestTimeoutMs + (query.waitMs ?? 0);
    return this.#get(`${taskPath(id)}/events`, eventList, query, how, { timeoutMs });
  }

  logs(
    id: string,
    query: { after?: string | undefined; limit?: number } = {},
    how?: CallOptions,
  ): Promise<LogList> {
    return this.#get(`${taskPath(id)}/logs`, logList, query, how);
  }

  /** Hears that something happened to tasks, until the stream ends. Resolves with why; never rejects. */
  hints(listener: TaskHintListener, signal: AbortSignal): Promise<string> {
    return readTaskHints(this.#options.door, this.clock, listener, signal);
  }

  cancel(id: string, request: CancelRequest, how?: CallOptions): Promise<TaskView> {
    return this.#post(`${taskPath(id)}/cancel`, request, taskView, how);
  }

  retry(id: string, request: RetryRequest, how?: CallOptions): Promise<TaskView> {
    return this.#post(`${taskPath(id)}/retry`, request, taskView, how);
  }

  resolve(id: string, request: ResolveRequest, how?: CallOptions): Promise<TaskView> {
    return this.#post(`${taskPath(id)}/resolve`, request, taskView, how);
  }

  async drainWorker(workerId: string, how?: CallOptions): Promise<void> {
    await this.#post(`/workers/${encodeURIComponent(workerId)}/drain`, {}, drainAnswer, how);
  }

  workers(how?: CallOptions): Promise<WorkerList> {
    return this.#get('/workers', workerList, {}, how);
  }

  worker(workerId: string, how?: CallOptions): Promise<WorkerView> {
    return this.#get(`/workers/${encodeURIComponent(workerId)}`, workerView, {}, how);
  }

  types(how?: CallOptions): Promise<TypeList> {
    return this.#get('/types', typeList, {}, how);
  }

  doctor(how?: CallOptions): Promise<DoctorAnswer> {
    return this.#get('/doctor', doctorAnswer, {}, how);
  }

  /** Sent once: each answer that got lost would leave a key that nobody knows. */
  newKey(request: NewKeyRequest, how?: CallOptions): Promise<NewKeyAnswer> {
    const call = { method: 'POST', path: '/keys', body: request, once: true } as const;
    const taken = { statuses: [201], schema: newKeyAnswer };
    return this.#ask({ ...call, ...taken }, { ...how, timeoutMs: 0 });
  }

  /** Newest first; the next page has the `cursor` of this one. */
  keys(query: { cursor?: string; limit?: number } = {}, how?: CallOptions): Promise<KeyList> {
    return this.#get('/keys', keyList, query, how);
  }

  revokeKey(id: string, how?: CallOptions): Promise<KeyView> {
    const path = `/keys/${encodeURIComponent(id)}`;
    return this.#ask({ method: 'DELETE', path, statuses: [200], schema: keyView }, how);
  }

  /** For a caller that repeats by itself. Throws `INVALID_OPTION`. */
  patience(how: CallOptions = {}): Patience {
    checkCall(how);
    const timeoutMs = how.timeoutMs ?? this.#options.timeoutMs ?? clientDefaults.timeoutMs;
    const { clock, random } = this;
    return new Patience(clock, random, timeoutMs, this.#options.closed, how.signal);
  }

  #get<T>(
    path: string,
    schema: Call<T>['schema'],
    query: Query,
    how: CallOptions | undefined,
    more: Partial<Call<T>> = {},
  ): Promise<T> {
    return this.#ask({ method: 'GET', path, query, statuses: [200], schema, ...more }, how);
  }

  #post<T>(
    path: string,
    body: unknown,
    schema: Call<T>['schema'],
    how: CallOptions | undefined,
  ): Promise<T> {
    return this.#ask({ method: 'POST', path, body, statuses: [200], schema }, how);
  }

  async #ask<T>(call: Call<T>, how: CallOptions = {}): Promise<T> {
    const limitMs = call.timeoutMs ?? workerDefaults.requestTimeoutMs;
    const once = (timeoutMs: number) => this.#once({ ...call, timeoutMs, signal: how.signal });
    return (await insist(this.patience(how), limitMs, once)).value;
  }

  /** One call, by a key of the right project. */
  async #once<T>(call: Call<T>): Promise<HttpAnswer<T>> {
    const { project } = this.#options;
    if (project === undefined || call.open) return this.#send(call);
    this.#checked ??= this.#checkProject(project);
    const failed = await this.#checked;
    if (!failed) return this.#send(call);
    this.#checked = undefined;
    return failed;
  }

  /** A key that is refused is read again from where it came from, and then tried once more. */
  async #send<T>(call: Call<T>): Promise<HttpAnswer<T>> {
    const { door, key, onAnswer } = this.#options;
    const answer = await door.call(call);
    if (answer.kind === 'ok') onAnswer?.();
    if (!key || answer.kind !== 'refused' || answer.status !== 401) return answer;
    const before = key.current();
    const after = await key.reload();
    return after === undefined || after === before ? answer : door.call(call);
  }

  /** Rejects with `PROJECT_MISMATCH`; resolves with what kept it from finding out. */
  async #checkProject(project: string): Promise<Unsuccessful | undefined> {
    const call = { method: 'GET', path: '/doctor', statuses: [200], schema: doctorAnswer } as const;
    const answer = await this.#send(call);
    if (answer.kind !== 'ok') return answer;
    if (answer.value.project === project) return undefined;
    throw new TaskError(
      'PROJECT_MISMATCH',
      `The key belongs to project "${answer.value.project}", not to "${project}".`,
      { hint: `Use a key of "${project}", or leave the project out.` },
    );
  }
}

const itemsTaken = { statuses: [200], schema: batchAnswer, plain: plainBatchAnswer } as const;

type Unsuccessful = Exclude<HttpAnswer<never>, { kind: 'ok' }>;

function taskPath(id: string): string {
  return `/tasks/${encodeURIComponent(id)}`;
}
