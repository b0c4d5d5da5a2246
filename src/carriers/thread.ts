/**
 * Handlers in another thread of this process, by messages (`thread-words.ts`): for the SDK, whose agent has a thread of
 * its own while the user's handlers stay where the user's program is. There `serveJobs` takes the jobs.
 *
 * A handler that never gives way hears nothing: not its stop, not the answer to its gate. Its stop is timed here, so that
 * a handler that ignores it is told about while it does. It cannot be killed and keeps its slot until it really ends.
 */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { typeKey } from '../contract/type-key.ts';
import { CallTimes, mayBeginUnmarked } from '../core/jobs-ahead.ts';
import { PassingMap } from '../core/passing-map.ts';
import { sdkDefaults } from '../core/sdk-defaults.ts';
import type {
  Carrier,
  Job,
  JobEnd,
  JobListener,
  RunningJob,
  StopReason,
} from '../ports/carrier.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { giving } from './giving.ts';
import { SameWait } from './same-wait.ts';
import { ignoresStop, StopGrace } from './stop-grace.ts';
import { ThreadBatch } from './thread-batch.ts';
import type { BegunCount, FromHandlers, ToHandlers } from './thread-words.ts';

export interface ThreadCarrierOptions {
  readonly port: MessagePort;
  /** Shared with the other end. */
  readonly begun: BegunCount;
  readonly clock: Clock;
  readonly log: Log;
  /** For the calls of one handler. Default: nothing is known yet. */
  readonly callTimes?: (() => JobPorts['times']) | undefined;
}

/** The port belongs to this carrier from now on; whoever closes it does so after the last job. */
export function createThreadCarrier(options: ThreadCarrierOptions): Carrier {
  const { port, begun, clock, log, callTimes = () => new CallTimes() } = options;
  const out = new ThreadBatch<ToHandlers>(port);
  const takeAll = () => {
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
      hear(next.message);
  };
  // Of those that were sent and have said nothing: looked at now and then, for a handler may hold its thread.
  const silent = new SameWait<ThreadJob>(clock, sdkDefaults.begunLookMs, (job) => {
    const { last } = begun;
    // What was said before that is there by now.
    takeAll();
    if (!job.begunBy(last)) silent.add(job);
  });
  const jobs = new PassingMap<number, ThreadJob>();
  /** By type. */
  const known = new Map<string, JobPorts['times']>();
  const timesOf = ({ type, schemaVersion }: Job) => {
    const key = typeKey(type, schemaVersion);
    const times = known.get(key) ?? callTimes();
    known.set(key, times);
    return times;
  };
  let count = 0;
  let gone = false;
  const hear = (messages: readonly FromHandlers[]) => {
    for (const message of messages) jobs.get(message.n)?.hear(message);
  };
  port.on('message', (first: readonly FromHandlers[]) => {
    hear(first);
    takeAll();
  });
  port.on('close', () => {
    gone = true;
    for (const job of jobs.values()) job.lost();
  });
  return {
    inProgram: true,
    start(job, listener) {
      const n = ++count;
      const running = new ThreadJob(n, job, listener, {
        ...{ clock, log, out, silent, times: timesOf(job) },
        others: () => jobs.size > 1,
      });
      if (gone) running.lost();
      jobs.set(n, running);
      void running.ended.then(() => jobs.delete(n));
      return running;
    },
    close: async () => {},
  };
}

interface JobPorts {
  readonly out: ThreadBatch<ToHandlers>;
  readonly silent: SameWait<ThreadJob>;
  /** Of its handler's calls. */
  readonly times: Pick<CallTimes, 'add' | 'shortMs'>;
  /** Whether other jobs are under way. */
  others(): boolean;
  readonly clock: Clock;
  readonly log: Log;
}

class ThreadJob implements RunningJob {
  readonly ended: Promise<JobEnd>;
  readonly #n: number;
  readonly #job: Job;
  readonly #listener: JobListener;
  readonly #out: ThreadBatch<ToHandlers>;
  readonly #ports: JobPorts;
  readonly #grace: StopGrace;
  #settle: (end: JobEnd) => void = () => {};
  #sent = false;
  #begun = false;
  #gateAnswered = false;
  #stopReason: StopReason | undefined;
  #over = false;

  constructor(n: number, job: Job, listener: JobListener, ports: JobPorts) {
    this.#n = n;
    this.#job = job;
    this.#listener = listener;
    this.#out = ports.out;
    this.#ports = ports;
    this.#grace = new StopGrace(ports.clock, () => this.#ignoresStop());
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    // Later in this turn: what is stopped before is never begun.
    queueMicrotask(() => void this.#give());
  }

  async #give(): Promise<void> {
    const { clock, silent } = this.#ports;
    if (this.#stopReason === undefined && !this.#isOneOfMany) await giving(this.#listener, clock);
    if (this.#over) return;
    if (this.#stopReason !== undefined) return this.#end({ how: 'stopped' });
    this.#sent = true;
    silent.add(this);
    this.#post({ t: 'run', n: this.#n, job: this.#job });
  }

  hear(message: FromHandlers): void {
    if (this.#over) return;
    if (message.t === 'begun') this.#begins();
    else if (message.t === 'progress') this.#listener.progress(message.update);
    else if (message.t === 'log') this.#listener.log(message.lines);
    else if (message.t === 'effect') this.#listener.effectRequested();
    else {
      if (message.tookMs !== undefined) this.#ports.times.add(message.tookMs);
      this.#end(message.end);
    }
  }

  /** A short one among others: that it begins is marked only if it is still at work a moment later, as in a host with jobs ahead. */
  get #isOneOfMany(): boolean {
    const { others, times } = this.#ports;
    return others() && times.shortMs !== undefined && mayBeginUnmarked(this.#job);
  }

  /** @returns whether nothing is waited for any more. @param last the number of the job that has begun last. */
  begunBy(last: number): boolean {
    if (this.#begun || this.#over) return true;
    // One that was stopped meanwhile may have been passed over: its end is on its way, or its word that it has begun.
    if (this.#stopReason !== undefined) return true;
    if (this.#n > last) return false;
    this.#begins();
    return true;
  }

  /** Once, whoever tells it first. */
  #begins(): void {
    if (this.#begun || this.#over) return;
    this.#begun = true;
    this.#ports.silent.delete(this);
    this.#listener.begun();
  }

  /** The thread of the handlers has closed the channel. */
  lost(): void {
    const detail = 'The thread of the handlers has closed its channel.';
    queueMicrotask(() => this.#end({ how: 'died', detail }));
  }

  openGate(): void {
    this.#answerGate({});
  }

  refuseGate(why: string): void {
    this.#answerGate({ refused: why });
  }

  stop(reason: StopReason, graceMs: number): void {
    if (this.#over) return;
    const first = this.#stopReason === undefined;
    this.#stopReason ??= reason;
    if (!this.#sent) return;
    if (first) this.#post({ t: 'stop', n: this.#n, reason });
    this.#grace.begin(graceMs);
  }

  /** The first answer is the answer. */
  #answerGate(answer: { readonly refused?: string }): void {
    if (!this.#sent || this.#over || this.#gateAnswered) return;
    this.#gateAnswered = true;
    this.#post({ t: 'gate', n: this.#n, ...answer });
  }

  #post(message: ToHandlers): void {
    this.#out.add(message);
  }

  #end(end: JobEnd): void {
    if (this.#over) return;
    this.#over = true;
    this.#ports.silent.delete(this);
    this.#grace.end();
    this.#settle(end);
  }

  #ignoresStop(): void {
    const { type, taskId, attemptId } = this.#job;
    const text = ignoresStop(type, this.#stopReason);
    const { clock, log } = this.#ports;
    const at = new Date(clock.wall()).toISOString();
    this.#listener.log([{ at, level: 'warn', text }]);
    log.warn('carrier.stop-ignored', text, { taskId, attemptId });
  }
}
