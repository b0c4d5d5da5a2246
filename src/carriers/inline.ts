/**
 * Handlers in this very process: for the SDK, where the user's program is the worker, and for tests. What a handler
 * says is treated as in a host. What it does is not: it shares this process's memory and fate, and it cannot be
 * killed. A handler that ignores its stop keeps its slot until it really ends; that is said, not hidden.
 */
import { TaskError } from '../contract/errors.ts';
import { resultBeyond } from '../contract/result-bound.ts';
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
import { giving } from './giving.ts';
import { JobLog } from './job-log.ts';
import { ignoresStop, StopGrace } from './stop-grace.ts';

export interface InlineCarrier extends Carrier {
  /** Serves this type and version from now on. Rejects with a TaskError where the declaration is wrong. */
  handle<Input, Result>(
    type: string,
    schemaVersion: number,
    handler: HandlerFunction<Input, Result> | HandlerDefinition<Input, Result>,
  ): Promise<Declaration>;
}

export interface InlineOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Jobs were made for it alone (they have crossed from another thread), so their inputs need no copies. */
  readonly ownsJobs?: boolean;
}

export function createInlineCarrier(options: InlineOptions): InlineCarrier {
  const handlers = new Map<string, Handler>();
  return {
    inProgram: true,
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
  readonly #log: Log;
  readonly #job: Job;
  readonly #lines: JobLog;
  readonly #progress: ProgressValve;
  #call: RunningCall | undefined;
  #stopReason: StopReason | undefined;
  readonly #grace: StopGrace;
  #moreTimer: Timer | undefined;
  #over = false;

  constructor(
    job: Job,
    handler: Handler | undefined,
    listener: JobListener,
    { clock, log, ownsJobs = false }: InlineOptions,
  ) {
    this.#job = job;
    this.#listener = listener;
    this.#log = log;
    this.#grace = new StopGrace(clock, () => this.#ignoresStop());
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
      .then(() => this.#run(handler, clock, ownsJobs))
      .then((end) => {
        this.#over = true;
        this.#grace.end();
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
    this.#grace.begin(graceMs);
  }

  async #run(handler: Handler | undefined, clock: Clock, ownsJobs: boolean): Promise<JobEnd> {
    if (this.#stopReason !== undefined) return { how: 'stopped' };
    if (handler === undefined) {
      const key = typeKey(this.#job.type, this.#job.schemaVersion);
      const message = `There is no handler for ${key} in this program.`;
      return { how: 'not-begun', error: { code: 'HANDLER_NOT_LOADED', message, retryable: true } };
    }
    const told = giving(this.#listener, clock);
    if (told !== undefined) {
      await told;
      if (this.#stopReason !== undefined) return { how: 'stopped' };
    }
    this.#listener.begun();
    // A copy, as in a process of its own: a handler may change its input.
    const job = ownsJobs ? this.#job : { ...this.#job, input: structuredClone(this.#job.input) };
    this.#call = startCall(handler, job, {
      progress: (update) => this.#progress.put(update),
      log: (level, text) => this.#lines.add(level, text),
      effectRequested: () => this.#listener.effectRequested(),
    });
    const outcome = await this.#call.outcome;
    this.#progress.flush();
    this.#lines.end();
    if (outcome.how !== 'returned') return outcome;
    // As a host does it: here too the report has to be written, kept and sent.
    const error = resultBeyond(hostDefaults.resultBytes, outcome.result);
    return error ? { how: 'threw', error } : outcome;
  }

  #ignoresStop(): void {
    const text = ignoresStop(this.#job.type, this.#stopReason);
    this.#lines.add('warn', text);
    this.#log.warn('carrier.stop-ignored', text, {
      taskId: this.#job.taskId,
      attemptId: this.#job.attemptId,
    });
  }
}
