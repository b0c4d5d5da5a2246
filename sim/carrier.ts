import { TaskError, type TaskFailure } from '../src/contract/errors.ts';
import type {
  Carrier,
  Job,
  JobEnd,
  JobListener,
  RunningJob,
  StopReason,
} from '../src/ports/carrier.ts';
import type { Clock } from '../src/ports/clock.ts';

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

export interface SimulatedCarrierOptions {
  /** By type; without one it returns `null`. */
  readonly scripts: Readonly<Record<string, Script>>;
  readonly clock: Clock;
  /** Types that go on after a stop; they are killed when their grace is over. */
  readonly ignoresStop?: readonly string[] | undefined;
  /** Types that cannot even be killed. */
  readonly unkillable?: readonly string[] | undefined;
  /** From the start of a job until its handler gets the input, milliseconds [0]. */
  readonly beginMs?: number | undefined;
  /** Jobs wait in their host: it is told that a handler has the input, not that it is to get it [false]. */
  readonly waitInHost?: boolean | undefined;
}

/**
 * The carrier's double: each type runs a script that decides how the job ends: returns, throws, hangs, dies, ignores the
 * stop. A stop ends a job at once as `stopped`, unless its script says otherwise by staying on (`ignoresStop`).
 */
export class SimulatedCarrier implements Carrier {
  readonly #options: SimulatedCarrierOptions;
  /** Every job that was started, in order. */
  readonly started: Job[] = [];
  running = 0;
  /** Highest number of jobs at once. */
  peak = 0;

  constructor(options: SimulatedCarrierOptions) {
    this.#options = options;
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
    const { clock, ignoresStop, scripts, unkillable } = this.#options;
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
    const begin = () => {
      if (over) return;
      if (!this.#options.waitInHost) void listener.giving?.();
      listener.begun();
      const script = scripts[job.type] ?? (() => returned(null));
      Promise.resolve()
        .then(() => script(play))
        .then(end, (cause) => end(threw(cause)));
    };
    const { beginMs } = this.#options;
    if (beginMs) clock.timer(beginMs, begin);
    else queueMicrotask(begin);
    return {
      openGate: () => gate.resolve(),
      refuseGate: (why) => gate.reject(new TaskError('GATE_REFUSED', why)),
      stop: (reason, graceMs) => {
        const deaf = unkillable?.includes(job.type) || ignoresStop?.includes(job.type);
        if (stopped === undefined) {
          stopped = reason;
          signal.resolve(reason);
          if (!deaf) queueMicrotask(() => end({ how: 'stopped' }));
        }
        if (unkillable?.includes(job.type)) return;
        if (graceMs > 0) clock.timer(graceMs, () => end({ how: 'killed' }));
        else queueMicrotask(() => end({ how: 'killed' }));
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
