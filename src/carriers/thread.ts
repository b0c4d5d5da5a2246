/**
 * Handlers in another thread of this process, by messages (`thread-words.ts`): for the SDK, whose agent has a thread of
 * its own while the user's handlers stay where the user's program is. There `serveJobs` takes the jobs.
 *
 * A handler that never gives way hears nothing: not its stop, not the answer to its gate. Its stop is timed here, so that
 * a handler that ignores it is told about while it does. It cannot be killed and keeps its slot until it really ends.
 */
import type { MessagePort } from 'node:worker_threads';
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
import { ignoresStop, StopGrace } from './stop-grace.ts';
import type { FromHandlers, ToHandlers } from './thread-words.ts';

/** @param port belongs to this carrier from now on; whoever closes it does so after the last job. */
export function createThreadCarrier(options: {
  readonly port: MessagePort;
  readonly clock: Clock;
  readonly log: Log;
}): Carrier {
  const { port } = options;
  const jobs = new Map<number, ThreadJob>();
  let count = 0;
  let gone = false;
  port.on('message', (message: FromHandlers) => jobs.get(message.n)?.hear(message));
  port.on('close', () => {
    gone = true;
    for (const job of jobs.values()) job.lost();
  });
  return {
    inProgram: true,
    start(job, listener) {
      const n = ++count;
      const running = new ThreadJob(n, job, listener, options);
      if (gone) running.lost();
      jobs.set(n, running);
      void running.ended.then(() => jobs.delete(n));
      return running;
    },
    close: async () => {},
  };
}

class ThreadJob implements RunningJob {
  readonly ended: Promise<JobEnd>;
  readonly #n: number;
  readonly #job: Job;
  readonly #listener: JobListener;
  readonly #port: MessagePort;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #grace: StopGrace;
  #settle: (end: JobEnd) => void = () => {};
  #sent = false;
  #gateAnswered = false;
  #stopReason: StopReason | undefined;
  #over = false;

  constructor(
    n: number,
    job: Job,
    listener: JobListener,
    { port, clock, log }: { port: MessagePort; clock: Clock; log: Log },
  ) {
    this.#n = n;
    this.#job = job;
    this.#listener = listener;
    this.#port = port;
    this.#clock = clock;
    this.#log = log;
    this.#grace = new StopGrace(clock, () => this.#ignoresStop());
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    // Later in this turn: what is stopped before is never begun.
    queueMicrotask(() => void this.#give());
  }

  async #give(): Promise<void> {
    if (this.#stopReason === undefined) await giving(this.#listener, this.#clock);
    if (this.#over) return;
    if (this.#stopReason !== undefined) return this.#end({ how: 'stopped' });
    this.#sent = true;
    this.#post({ t: 'run', n: this.#n, job: this.#job });
  }

  hear(message: FromHandlers): void {
    if (this.#over) return;
    if (message.t === 'begun') this.#listener.begun();
    else if (message.t === 'progress') this.#listener.progress(message.update);
    else if (message.t === 'log') this.#listener.log(message.lines);
    else if (message.t === 'effect') this.#listener.effectRequested();
    else this.#end(message.end);
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
    this.#port.postMessage(message);
  }

  #end(end: JobEnd): void {
    if (this.#over) return;
    this.#over = true;
    this.#grace.end();
    this.#settle(end);
  }

  #ignoresStop(): void {
    const { type, taskId, attemptId } = this.#job;
    const text = ignoresStop(type, this.#stopReason);
    const at = new Date(this.#clock.wall()).toISOString();
    this.#listener.log([{ at, level: 'warn', text }]);
    this.#log.warn('carrier.stop-ignored', text, { taskId, attemptId });
  }
}
