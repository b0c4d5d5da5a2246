import { TaskError, type TaskFailure } from '../src/contract/errors.ts';
import type {
  Carrier,
  Job,
  JobEnd,
  JobListener,
  RunningJob,
  StopReason,
} from '../src/ports/carrier.ts';

/** What a scripted handler has in its hands. */
export interface Play {
  readonly job: Job;
  readonly listener: JobListener;
  /** Set when the stop was signalled. */
  readonly stopped: StopReason | undefined;
  /** Resolves with the reason of the stop. */
  readonly stopSignal: Promise<StopReason>;
  /** Resolves when the gate is open, rejects when it is refused. */
  beginEffect(): Promise<void>;
}

export type Script = (play: Play) => Promise<JobEnd> | JobEnd;

/**
 * The carrier's double: each type runs a script that decides how the job ends: returns, throws, hangs, dies, ignores the
 * stop. A stop ends a job at once as `stopped`, unless its script says otherwise by staying on (`ignoresStop`).
 */
export class SimulatedCarrier implements Carrier {
  readonly #scripts: Readonly<Record<string, Script>>;
  readonly #ignoresStop: ReadonlySet<string>;
  /** Every job that was started, in order. */
  readonly started: Job[] = [];
  running = 0;
  /** Highest number of jobs at once. */
  peak = 0;

  constructor(scripts: Readonly<Record<string, Script>>, ignoresStop: readonly string[] = []) {
    this.#scripts = scripts;
    this.#ignoresStop = new Set(ignoresStop);
  }

  start(job: Job, listener: JobListener): RunningJob {
    this.started.push(job);
    this.running++;
    this.peak = Math.max(this.peak, this.running);
    const ended = Promise.withResolvers<JobEnd>();
    const signal = Promise.withResolvers<StopReason>();
    const gate = Promise.withResolvers<void>();
    gate.promise.catch(() => {});
    let over = false;
    let stopped: StopReason | undefined;
    const end = (how: JobEnd) => {
      if (over) return;
      over = true;
      this.running--;
      ended.resolve(how);
    };
    const play: Play = {
      job,
      listener,
      get stopped() {
        return stopped;
      },
      stopSignal: signal.promise,
      beginEffect: () => {
        listener.effectRequested();
        return gate.promise;
      },
    };
    queueMicrotask(() => {
      listener.begun();
      const script = this.#scripts[job.type] ?? (() => returned(null));
      Promise.resolve()
        .then(() => script(play))
        .then(end, (cause) => end(threw(cause)));
    });
    return {
      openGate: () => gate.resolve(),
      refuseGate: (why) => gate.reject(new TaskError('GATE_REFUSED', why)),
      stop: (reason, graceMs) => {
        if (stopped === undefined) {
          stopped = reason;
          signal.resolve(reason);
          if (!this.#ignoresStop.has(job.type)) queueMicrotask(() => end({ how: 'stopped' }));
        }
        if (graceMs === 0) queueMicrotask(() => end({ how: 'killed' }));
      },
      ended: ended.promise,
    };
  }

  async close(): Promise<void> {}
}

export function returned(result: unknown): JobEnd {
  return { how: 'returned', result };
}

export function threw(cause: unknown): JobEnd {
  const message = cause instanceof Error ? cause.message : String(cause);
  const error: TaskFailure = { code: 'HANDLER_ERROR', message, retryable: false };
  return { how: 'threw', error };
}
