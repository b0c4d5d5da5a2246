import { setMaxListeners } from 'node:events';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { WireFetch } from '../../wire/fetch.ts';
import { Broken } from '../case.ts';
import { Caller, type Seen, type Sent, Transcript } from './caller.ts';
import { Leavings, type Left } from './leavings.ts';
import { openStream, type StreamReader } from './stream-reader.ts';
import type { EventShape, KeyShape, TaskShape } from './wire-shapes.ts';
import { WorkerActor, type WorkerOptions } from './worker-actor.ts';
import type { WorkerIds } from './worker-ids.ts';

/** The keys that a person gives. `worker` and `producer` belong to one project and are always there. */
export interface KitKeys {
  readonly worker: string;
  readonly producer: string;
  /** For retry and resolve. */
  readonly operator?: string | undefined;
  /** For the cases about keys. */
  readonly admin?: string | undefined;
  /** Of another project. */
  readonly otherWorker?: string | undefined;
  readonly otherProducer?: string | undefined;
}

export interface WorldOptions {
  readonly serviceUrl: string;
  readonly keys: KitKeys;
  readonly fetch: WireFetch;
  readonly clock: Clock;
  readonly random: Random;
  /** Word that all of this run carries: types, pool, labels, worker ids. */
  readonly run: string;
  /** Names of the run's workers. */
  readonly workerIds: WorkerIds;
  /** The case: part of its types, so that cases at the same time never meet. */
  readonly caseName: string;
  readonly signal: AbortSignal;
  /** Shortest lease that the control plane grants, milliseconds. */
  readonly leaseMinMs: number;
}

/** One case's view of the control plane: it calls by hand, whatever the case wants to send. */
export class ControlPlaneWorld {
  readonly keys: KitKeys;
  readonly clock: Clock;
  readonly random: Random;
  /** Of this case alone, so that no other worker takes its tasks. */
  readonly pool: string;
  readonly leaseMinMs: number;
  readonly signal: AbortSignal;
  readonly serviceUrl: string;
  readonly transcript = new Transcript();
  readonly #options: WorldOptions;
  readonly #caller: Caller;
  readonly #leavings: Leavings;
  /** The names of keys begin so: one whose answer never came is found by it. */
  readonly #keyNames: string;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.keys = options.keys;
    this.clock = options.clock;
    this.random = options.random;
    this.leaseMinMs = options.leaseMinMs;
    this.signal = options.signal;
    // Each wait and each call of a case listens to it, and some cases have many at a time.
    setMaxListeners(0, options.signal);
    this.serviceUrl = options.serviceUrl;
    this.pool = `conformance:${options.run}:${options.caseName.replace('/', '-')}`;
    this.#keyNames = `conformance-${options.run}-${options.caseName.replace('/', '-')}-`;
    this.#caller = new Caller({ ...options, transcript: this.transcript });
    const { pool } = this;
    const keyNames = this.#keyNames;
    this.#leavings = new Leavings({ ...options, pool, keyNames, id: (word) => this.id(word) });
  }

  /** Any call. What it makes is taken away at the end. @throws Broken where no whole answer comes. */
  async call(sent: Sent): Promise<Seen> {
    this.#leavings.sends(sent);
    const seen = await this.#caller.call(sent);
    this.#leavings.saw(sent, seen);
    return seen;
  }

  /** An answer while it comes; see `Caller.open`. */
  open(sent: Sent): ReturnType<Caller['open']> {
    return this.#caller.open(sent);
  }

  /** Sends a call and breaks it off after `ms`: whether it was taken, nobody knows. */
  async cutOff(sent: Sent, ms: number): Promise<void> {
    const cut = new AbortController();
    const going = this.call({ ...sent, signal: cut.signal }).then(
      () => {},
      () => {},
    );
    await this.pause(ms);
    cut.abort();
    await going;
  }

  get(path: string, key: string | undefined = this.keys.producer): Promise<Seen> {
    return this.call({ method: 'GET', path, key });
  }

  post(path: string, body: unknown, key: string | undefined = this.keys.producer): Promise<Seen> {
    return this.call({ method: 'POST', path, key, body });
  }

  /** A stream of events that is being read. @throws Broken where it is not answered as one. */
  listen(path: string, key: string): Promise<StreamReader> {
    return openStream(this, path, key);
  }

  /** The key of an operator: its own, or the admin's. Only for cases that need one. */
  get operatorKey(): string {
    return this.keys.operator ?? (this.keys.admin as string);
  }

  /**
   * `POST /keys` with the admin's key; what is made is revoked at the end, and expires within an hour where no word gets
   * through by then. Only for cases that need it.
   */
  async newKey(kind: string, more: Readonly<Record<string, unknown>> = {}): Promise<KeyShape> {
    const name = `${this.#keyNames}${kind}-${this.id('x').slice(2, 10)}`;
    const end = more.expiresAt === undefined ? { expiresInMs: KEY_LIFE_MS } : {};
    const body = { name, kind, ...end, ...more };
    const made = (await this.post('/keys', body, this.keys.admin)).is(201).body<KeyShape>();
    this.#leavings.key(made.id);
    return made;
  }

  /** The name of a type that only this case uses. */
  type(word = 'task'): string {
    return `conformance/${this.#options.run}/${this.#options.caseName.replace('/', '-')}/${word}`;
  }

  /** A 128-bit id of the contract's form. */
  id(prefix: string): string {
    const hex = Buffer.from(this.#options.random.bytes(16)).toString('hex');
    return `${prefix}_${hex}`;
  }

  /** A name that nobody else uses: one segment. */
  fresh(word: string): string {
    return `conformance-${this.#options.run}-${word}-${this.id('x').slice(2, 10)}`;
  }

  /** The body of a submission that this case may make; `fields` add or replace. */
  submission(fields: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
    return {
      type: this.type(),
      schemaVersion: 1,
      input: {},
      pool: this.pool,
      labels: { conformance: this.#options.run },
      ...fields,
    };
  }

  /** `POST /tasks`; whatever is created is cancelled at the end. */
  submitting(
    fields: Readonly<Record<string, unknown>> = {},
    more: Partial<Sent> = {},
  ): Promise<Seen> {
    return this.call({
      method: 'POST',
      path: '/tasks',
      key: this.keys.producer,
      body: this.submission(fields),
      ...more,
    });
  }

  /** A task that was created. @throws Broken where it was not. */
  async submit(fields: Readonly<Record<string, unknown>> = {}): Promise<TaskShape> {
    return (await this.submitting(fields)).is(201).body<TaskShape>();
  }

  /** A task that another call created: it is cancelled at the end, with this key [`producer`]. */
  remember(taskId: unknown, key: string = this.keys.producer): void {
    this.#leavings.task(taskId, key);
  }

  async task(id: string): Promise<TaskShape> {
    const seen = await this.call({ method: 'GET', path: `/tasks/${id}`, key: this.keys.producer });
    return seen.is(200).body<TaskShape>();
  }

  /** `POST /tasks/{id}/cancel` with the producer's key. */
  cancel(id: string, body: Readonly<Record<string, unknown>> = {}): Promise<Seen> {
    const path = `/tasks/${id}/cancel`;
    return this.call({ method: 'POST', path, key: this.keys.producer, body });
  }

  /** The control plane's clock, milliseconds: instants that it compares are made of its own. */
  async serverNowMs(): Promise<number> {
    const seen = (await this.call({ method: 'GET', path: '/' })).is(200);
    const { serverTime } = seen.body<{ serverTime: string }>();
    return Date.parse(serverTime);
  }

  async events(id: string): Promise<readonly EventShape[]> {
    const path = `/tasks/${id}/events`;
    const seen = await this.call({ method: 'GET', path, key: this.keys.producer });
    return seen.is(200).body<{ events: EventShape[] }>().events;
  }

  /** Asks again until the task has one of these statuses. @throws Broken after `ms`. */
  taskIn(id: string, statuses: readonly string[], ms = WAIT_MS): Promise<TaskShape> {
    let last = '';
    return this.until(
      () => `status ${statuses.join(' or ')} of ${id} (it is ${last})`,
      async () => {
        const task = await this.task(id);
        last = task.status;
        return statuses.includes(task.status) ? task : undefined;
      },
      ms,
    );
  }

  worker(options: WorkerOptions = {}): WorkerActor {
    return new WorkerActor(this, options);
  }

  /** Asks again until there is something. @throws Broken after `ms` [20 s]. */
  async until<T>(
    what: string | (() => string),
    look: () => Promise<T | undefined>,
    ms = WAIT_MS,
  ): Promise<T> {
    const by = this.clock.now() + ms;
    for (;;) {
      const found = await look();
      if (found !== undefined) return found;
      if (this.clock.now() >= by) {
        const words = typeof what === 'string' ? what : what();
        throw new Broken(`${words} did not come within ${Math.round(ms / 100) / 10} s.`);
      }
      await this.pause(LOOK_EVERY_MS);
    }
  }

  /** Time that has to pass for the peer: a lease that runs out. @throws where the case is over. */
  async pause(ms: number): Promise<void> {
    if (!(await this.clock.sleep(ms, this.signal))) throw new Error('The case is over.');
  }

  /** A name for a worker of this key: one that earlier cases may have used, too. */
  workerId(key: string): string {
    return this.#leavings.workerId(key) ?? this.fresh('worker');
  }

  /**
   * Leaves nothing that could run, and every worker offline.
   *
   * @param call made with a signal that the end of the case does not abort.
   * @returns the tasks that run on until their leases end.
   */
  cleanUp(call: (sent: Sent) => Promise<Seen>): Promise<readonly Left[]> {
    return this.#leavings.clear(call);
  }
}

/** Longer than any case takes. */
const KEY_LIFE_MS = 3_600_000;

/** For what a sound peer does at once; long enough for a busy one. */
const WAIT_MS = 20_000;
/** Bounds the load on a shared peer. */
const LOOK_EVERY_MS = 100;
