/**
 * The agent as the user's thread sees it: starts its thread, runs its jobs with the carrier of this thread, answers for
 * the key, hands on its log, and notices when the thread dies. Ends with the worker. Until then the thread, and nothing
 * else of this, keeps the process alive. Where handlers would not go, the thread outlives the worker's end: it keeps their
 * leases and the spool until they have ended, and does not keep the process for those that are still at it.
 */
import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  type Worker as Thread,
} from 'node:worker_threads';
import { type ServedJobs, serveJobs } from '../carriers/thread-jobs.ts';
import { BegunCount } from '../carriers/thread-words.ts';
import { VERSION } from '../contract/version.ts';
import { workerDefaults } from '../core/defaults.ts';
import { sdkDefaults } from '../core/sdk-defaults.ts';
import type { Carrier } from '../ports/carrier.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { KeySource } from '../wire/key.ts';
import type { WorkerStatus } from '../worker/worker.ts';
import { afterDeath, diedError, howItDied } from './agent-death.ts';
import { startThread } from './agent-options.ts';
import {
  type AgentSettings,
  type FromAgent,
  type ToAgent,
  toldError,
  type WorkerEnd,
} from './agent-words.ts';
import { usableKey } from './worker-key.ts';

export interface AgentPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** Runs the handlers, in this thread. */
  readonly carrier: Carrier;
  readonly key: KeySource;
}

export class Agent {
  /** Rejects where the worker could not be started. */
  readonly started: Promise<void>;
  readonly #settings: AgentSettings;
  readonly #ports: AgentPorts;
  readonly #thread: Thread;
  readonly #words: MessagePort;
  readonly #status: MessagePort;
  readonly #jobs: ServedJobs;
  readonly #answered = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly #ended: Promise<WorkerEnd>;
  #begun: { resolve(): void; reject(error: Error): void } = { resolve() {}, reject() {} };
  #end: (end: WorkerEnd) => void = () => {};
  #lastStatus: WorkerStatus | undefined;
  #asked = 0;
  #key: string;
  /** Nothing is left of the worker, or it was never there: what the thread does now is no news. */
  #over = false;
  #fault: Error | undefined;

  /** Throws `AGENT_NOT_STARTED`. */
  constructor(settings: AgentSettings, ports: AgentPorts) {
    this.#settings = settings;
    this.#ports = ports;
    this.#key = settings.key;
    const [words, jobs, status] = [
      new MessageChannel(),
      new MessageChannel(),
      new MessageChannel(),
    ];
    const begun = new BegunCount();
    const thread = startThread({
      version: VERSION,
      settings,
      ports: { words: words.port2, jobs: jobs.port2, status: status.port2 },
      answered: this.#answered.buffer,
      begun: begun.memory,
    });
    this.#thread = thread;
    this.#words = words.port1;
    this.#status = status.port1;
    this.#jobs = serveJobs(jobs.port1, ports.carrier, begun, ports.clock);
    this.started = new Promise((resolve, reject) => {
      this.#begun = { resolve, reject };
    });
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#words.on('message', (first: FromAgent) => this.#hear(first));
    for (const port of [this.#words, this.#status, jobs.port1]) port.unref();
    thread.on('error', (error) => {
      this.#fault = error;
    });
    thread.on('exit', (code) => void this.#gone(code));
  }

  /** `undefined` before the worker has its spool. */
  get ended(): Promise<WorkerEnd> | undefined {
    return this.#lastStatus && this.#ended;
  }

  drain(): Promise<WorkerEnd> | undefined {
    if (!this.#over) this.#post({ t: 'drain' });
    return this.ended;
  }

  /** Of this moment: the agent is asked and waited for. The last one known where it does not answer in time. */
  status(): WorkerStatus | undefined {
    if (this.#over || this.#lastStatus === undefined) return this.#lastStatus;
    // An earlier question that was not answered in time is answered now just as well.
    if (Atomics.load(this.#answered, 0) === this.#asked) {
      this.#asked++;
      this.#status.postMessage('?');
    }
    Atomics.wait(this.#answered, 0, this.#asked - 1, sdkDefaults.statusWaitMs);
    for (const status of waitingIn<WorkerStatus>(this.#status)) this.#lastStatus = status;
    return this.#lastStatus;
  }

  #hear(first: FromAgent): void {
    this.#takeAll([first, ...waitingIn<FromAgent>(this.#words)]);
    this.#tellChangedKey();
  }

  #takeAll(messages: Iterable<FromAgent>): void {
    let lines = 0;
    for (const message of messages) {
      if (message.t === 'log') lines++;
      this.#take(message);
    }
    if (lines > 0) this.#post({ t: 'logged', lines });
  }

  #take(message: FromAgent): void {
    switch (message.t) {
      case 'log':
        this.#ports.log[message.level](message.event, message.text, message.fields);
        break;
      case 'reload':
        void this.#reload(message.n);
        break;
      case 'up':
        this.#lastStatus = message.status;
        break;
      case 'started':
        this.#begun.resolve();
        break;
      case 'failed':
        this.#over = true;
        this.#begun.reject(toldError(message.error));
        break;
      case 'ended':
        this.#over = message.left === undefined;
        this.#lastStatus = message.status;
        if (message.left) this.#outlive();
        this.#end(message.end);
        break;
      case 'gone':
        this.#over = true;
        this.#lastStatus = message.status;
    }
  }

  /**
   * Handlers would not go. They keep the process alive as far as they do so by themselves; what one says at last is given
   * its moment to reach the disk and the control plane.
   */
  #outlive(): void {
    const { clock } = this.#ports;
    const taken = () => {
      this.#thread.ref();
      if (this.#jobs.running === 0) return;
      clock.timer(workerDefaults.lastWordMs, () => {
        if (this.#jobs.running > 0) this.#thread.unref();
      });
    };
    if (this.#jobs.running === 0) return;
    this.#thread.unref();
    this.#jobs.onEnded(taken);
  }

  async #reload(answer: number): Promise<void> {
    const { key } = this.#ports;
    try {
      const read = usableKey(await key.reload());
      if (read !== undefined) this.#key = read;
      this.#post({ t: 'key', key: read, answer });
    } catch {
      this.#post({ t: 'key', answer });
    }
  }

  /** A source may have another key without having been asked for one. */
  #tellChangedKey(): void {
    try {
      const key = usableKey(this.#ports.key.current());
      if (key === undefined || key === this.#key) return;
      this.#key = key;
      this.#post({ t: 'key', key });
    } catch {
      // The last one stays.
    }
  }

  /** The thread has ended. In order after `ended` or `failed`; else it has died. */
  async #gone(code: number): Promise<void> {
    this.#takeAll(waitingIn<FromAgent>(this.#words));
    if (this.#over) return;
    this.#over = true;
    const detail = howItDied(this.#fault, code);
    this.#begun.reject(diedError(detail, this.#fault));
    if (this.#lastStatus) this.#lastStatus = { ...this.#lastStatus, state: 'stopped' };
    this.#end(await afterDeath(detail, this.#settings, this.#ports, this.#jobs));
  }

  #post(message: ToAgent): void {
    this.#words.postMessage(message);
  }
}

/** What lies in a port, taken without a turn of the event loop. */
function* waitingIn<Message>(port: MessagePort): Generator<Message> {
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
    yield next.message as Message;
}
