/**
 * One job of the carrier `shared`. Phases: waiting → given → running → ended.
 *   waiting  for a host, or for its module to be loaded
 *   given    its input is on its way to the host; one that is gone before it has taken it has not begun: `waiting` again
 *   running  the handler has its input; left by what it says, or by the end of its host
 *   ended    `ended` has settled and nobody is called any more
 * Nothing is timed for it but its stop and its progress: its host is watched as a whole.
 */
import type { TaskFailure } from '../contract/errors.ts';
import { hostDefaults } from '../core/defaults.ts';
import type { CallOutcome, FromHost } from '../handler/protocol.ts';
import type { Job, JobEnd, JobListener, RunningJob, StopReason } from '../ports/carrier.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { giving } from './giving.ts';
import { JobLog } from './job-log.ts';
import type { SharedHost } from './shared-host.ts';

export class SharedRun implements RunningJob {
  readonly job: Job;
  readonly ended: Promise<JobEnd>;
  phase: 'waiting' | 'given' | 'running' | 'ended' = 'waiting';
  /** Its number in its host. */
  n = 0;
  /** Hosts that it was given to. */
  given = 0;
  stopReason: StopReason | undefined;
  readonly #listener: JobListener;
  readonly #clock: Clock;
  readonly #log: Log;
  #host: SharedHost | undefined;
  #settle: (end: JobEnd) => void = () => {};
  #lines: JobLog | undefined;
  #killAt = Number.POSITIVE_INFINITY;
  #killTimer: Timer | undefined;
  #moreTimer: Timer | undefined;
  #effectAsked = false;

  constructor(job: Job, listener: JobListener, { clock, log }: { clock: Clock; log: Log }) {
    this.job = job;
    this.#listener = listener;
    this.#clock = clock;
    this.#log = log;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get pid(): number | undefined {
    return this.#host?.process.pid;
  }

  get heldUp(): boolean {
    return this.phase !== 'ended' && this.#host?.heldUp === true;
  }

  get host(): string | undefined {
    return this.#host?.process.id;
  }

  /** It waits for this host, or for one, from now on. */
  at(host: SharedHost | undefined): void {
    this.#host = host;
    this.phase = 'waiting';
  }

  /** See `giving`. */
  giving(host: SharedHost): Promise<void> | undefined {
    return giving(this.#listener, this.#clock, host.process.id);
  }

  /** Issued and not waited for: the host has to read and to answer before it calls the handler. */
  tellGiving(host: SharedHost): void {
    this.#safely(() => void this.#listener.giving?.(host.process.id));
  }

  openGate(): void {
    this.#host?.send(this, { t: 'gate', n: this.n });
  }

  refuseGate(why: string): void {
    this.#host?.send(this, { t: 'gate', n: this.n, refused: why });
  }

  stop(reason: StopReason, graceMs: number): void {
    const first = this.stopReason === undefined;
    this.stopReason ??= reason;
    if (this.phase === 'waiting') {
      this.#host?.notWaiting(this);
      this.end({ how: 'stopped' });
    } else if (this.phase !== 'ended') {
      if (first) {
        this.#host?.send(this, { t: 'stop', n: this.n, reason });
        // So that it is known whether it could hear it.
        this.#host?.ping();
      }
      this.#killWithin(graceMs);
    }
  }

  #killWithin(graceMs: number): void {
    const at = this.#clock.now() + Math.max(0, graceMs);
    if (at >= this.#killAt) return;
    this.#killAt = at;
    this.#killTimer?.cancel();
    if (graceMs <= 0) this.#host?.endFor(this);
    else this.#killTimer = this.#clock.timer(graceMs, () => this.#host?.endFor(this));
  }

  taken(): void {
    if (this.phase !== 'given') return;
    this.phase = 'running';
    this.#safely(() => this.#listener.begun());
  }

  /** What its handler says before its end. */
  heard(frame: Exclude<FromHost, { t: 'end' }>): void {
    if (this.phase === 'ended') return;
    this.taken();
    if (frame.t === 'log') this.#taskLog().add(frame.level, frame.text);
    else if (frame.t === 'progress') {
      this.#safely(() => this.#listener.progress(frame.update));
      this.#moreTimer ??= this.#clock.timer(hostDefaults.progressEveryMs, () => {
        this.#moreTimer = undefined;
        this.#host?.send(this, { t: 'more', n: this.n });
      });
    } else if (frame.t === 'effect') {
      if (!this.#effectAsked) this.#safely(() => this.#listener.effectRequested());
      this.#effectAsked = true;
    }
  }

  /** What its handler said last. */
  outcome(outcome: CallOutcome, logBytesDropped: number): void {
    this.taken();
    if (logBytesDropped > 0) this.#taskLog().drop(logBytesDropped);
    this.end(outcome);
  }

  stuck(): void {
    this.#safely(() => this.#listener.stuck?.());
  }

  giveUp(error: TaskFailure): void {
    this.end({ how: 'not-begun', error });
  }

  end(end: JobEnd): void {
    if (this.phase === 'ended') return;
    if (this.#lines !== undefined) this.#safely(() => this.#lines?.end());
    this.phase = 'ended';
    this.#killTimer?.cancel();
    this.#moreTimer?.cancel();
    this.#settle(end);
  }

  /** Made when it is needed: most say nothing. */
  #taskLog(): JobLog {
    this.#lines ??= new JobLog(this.#clock, (lines) => {
      if (this.phase !== 'ended') this.#safely(() => this.#listener.log(lines));
    });
    return this.#lines;
  }

  /** Whoever hears it may be at fault: the job goes on to its end all the same. */
  #safely(say: () => void): void {
    try {
      say();
    } catch (error) {
      const text = `What a handler said could not be delivered: ${String(error)}`;
      this.#log.error('host.not-heard', text, { stack: (error as Error)?.stack });
    }
  }
}

/** Without what the host knows: its file and code. */
export function callOf(job: Job) {
  const { taskId, attemptId, attempt, fence, type, schemaVersion } = job;
  const { effectKey, effectGate, labels, input, checkpoint, traceparent } = job;
  return {
    taskId,
    attemptId,
    attempt,
    fence,
    type,
    schemaVersion,
    effectKey,
    effectGate,
    labels,
    input,
    ...(checkpoint !== undefined && { checkpoint }),
    ...(traceparent !== undefined && { traceparent }),
  };
}
