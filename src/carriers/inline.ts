/**
 * Handlers in this very process: for the SDK, where the user's program is the worker, and for tests. What a handler
 * says is treated as in a host. What it does is not: it shares this process's memory and fate, and it cannot be
 * killed. A handler that ignores its stop keeps its slot until it really ends; that is said, not hidden.
 */
import { TaskError } from '../contract/errors.ts';
import { typeKey } from '../contract/type-key.ts';
import { hostDefaults } from '../core/defaults.ts';
import { type RunningCall, startCall } from '../handler/call.ts';
import { type Handler, readHandler } from '../handler/declaration.ts';
import type { HandlerDefinition, HandlerFunction } from '../handler/define.ts';
import { ProgressValve } from '../handler/progress-valve.ts';
import type { Declaration } from '../handler/protocol.ts';
import type {
  Carrier,
  Job,
  JobEnd,
  JobListener,
  RunningJob,
  StopReason,
} from '../ports/carrier.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { JobLog } from './job-log.ts';

export interface InlineCarrier extends Carrier {
  /** Serves this type and version from now on. Rejects with a TaskError where the declaration is wrong. */
  handle<Input, Result>(
    type: string,
    schemaVersion: number,
    handler: HandlerFunction<Input, Result> | HandlerDefinition<Input, Result>,
  ): Promise<Declaration>;
}

export function createInlineCarrier(options: { clock: Clock; log: Log }): InlineCarrier {
  const handlers = new Map<string, Handler>();
  return {
    async handle(type, schemaVersion, handler) {
      const key = typeKey(type, schemaVersion);
      const read = await readHandler({ default: handler });
      if (!read.ok) {
        const { code, message, hint } = read.problem;
        throw new TaskError(code, `${key}: ${message}`, { hint });
      }
      if (handlers.has(key)) {
        throw new TaskError('HANDLER_DUPLICATE', `${key} has a handler already.`, {
          hint: 'Register each type and version once.',
        });
      }
      handlers.set(key, read.handler);
      return read.handler.declaration;
    },
    start: (job, listener) =>
      new InlineJob(job, handlers.get(typeKey(job.type, job.schemaVersion)), listener, options),
    close: async () => {},
  };
}

class InlineJob implements RunningJob {
  readonly ended: Promise<JobEnd>;
  readonly #listener: JobListener;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #job: Job;
  readonly #lines: JobLog;
  readonly #progress: ProgressValve;
  #call: RunningCall | undefined;
  #stopReason: StopReason | undefined;
  #graceOver = Number.POSITIVE_INFINITY;
  #graceTimer: Timer | undefined;
  #moreTimer: Timer | undefined;
  #over = false;

  constructor(
    job: Job,
    handler: Handler | undefined,
    listener: JobListener,
    { clock, log }: { clock: Clock; log: Log },
  ) {
    this.#job = job;
    this.#listener = listener;
    this.#clock = clock;
    this.#log = log;
    this.#lines = new JobLog(clock, (lines) => listener.log(lines));
    this.#progress = new ProgressValve(
      (update) => {
        listener.progress(update);
        this.#moreTimer ??= clock.timer(hostDefaults.progressEveryMs, () => {
          this.#moreTimer = undefined;
          this.#progress.more();
        });
      },
      () => clock.now(),
    );
    // Later in this turn: the caller has the job in hand before its listener is called.
    this.ended = Promise.resolve()
      .then(() => this.#run(handler))
      .then((end) => {
        this.#over = true;
        this.#graceTimer?.cancel();
        this.#moreTimer?.cancel();
        return end;
      });
  }

  openGate(): void {
    this.#call?.openGate();
  }

  refuseGate(why: string): void {
    this.#call?.refuseGate(why);
  }

  stop(reason: StopReason, graceMs: number): void {
    if (this.#over) return;
    this.#stopReason ??= reason;
    this.#call?.abort(this.#stopReason);
    const over = this.#clock.now() + Math.max(0, graceMs);
    if (over >= this.#graceOver) return;
    this.#graceOver = over;
    this.#graceTimer?.cancel();
    this.#graceTimer = this.#clock.timer(Math.max(0, graceMs), () => this.#ignoresStop());
  }

  async #run(handler: Handler | undefined): Promise<JobEnd> {
    if (this.#stopReason !== undefined) return { how: 'stopped' };
    if (handler === undefined) {
      const key = typeKey(this.#job.type, this.#job.schemaVersion);
      const message = `There is no handler for ${key} in this program.`;
      return { how: 'not-begun', error: { code: 'HANDLER_NOT_LOADED', message, retryable: true } };
    }
    this.#listener.begun();
    // A copy, as in a process of its own: a handler may change its input.
    const job = { ...this.#job, input: structuredClone(this.#job.input) };
    this.#call = startCall(handler, job, {
      progress: (update) => this.#progress.put(update),
      log: (level, text) => this.#lines.add(level, text),
      effectRequested: () => this.#listener.effectRequested(),
    });
    const outcome = await this.#call.outcome;
    this.#progress.flush();
    this.#lines.end();
    return outcome;
  }

  #ignoresStop(): void {
    const text = `The handler of ${this.#job.type} has not ended within its time to stop (${this.#stopReason}). It runs inside this program and cannot be killed: its slot stays taken until it ends.`;
    this.#lines.add('warn', text);
    this.#log.warn('carrier.stop-ignored', text, {
      taskId: this.#job.taskId,
      attemptId: this.#job.attemptId,
    });
  }
}
