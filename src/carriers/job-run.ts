/**
 * One job of the carrier `process`. Phases: waiting → loading → giving → running → closing → ended.
 *   waiting  no host yet
 *   loading  a host is starting and loads the module; the handler has not begun
 *   giving   its input is on its way to the host; left when the host has taken it. One that does not take it is
 *            killed, or has ended: nothing has begun, and the job is `waiting` again, for another host
 *   running  the handler has its input; left by what it says, or by the end of its host
 *   closing  its outcome is known; output is read to its end, what it left behind is killed and waited for
 *   ended    `ended` has settled and nobody is called any more
 */

import type { TaskFailure } from '../contract/errors.ts';
import { hostDefaults } from '../core/defaults.ts';
import { type CallOutcome, encodeFrame, type FromHost } from '../handler/protocol.ts';
import type { Job, JobEnd, JobListener, RunningJob, StopReason } from '../ports/carrier.ts';
import type { Timer } from '../ports/clock.ts';
import { drained } from './call-ends.ts';
import { giving } from './giving.ts';
import { exitText, type Host } from './host.ts';
import { died, leftRunning, NOT_TAKEN, notTakenByAny, tellNotTaken } from './host-ends.ts';
import type { HostGone, HostListener } from './host-process.ts';
import type { JobRunContext } from './job-context.ts';
import { JobLog } from './job-log.ts';
import type { Mark } from './new-processes.ts';
import { OutputLines } from './output-lines.ts';

export class JobRun implements RunningJob, HostListener {
  readonly job: Job;
  readonly ended: Promise<JobEnd>;
  readonly #ctx: JobRunContext;
  readonly #listener: JobListener;
  readonly #log: JobLog;
  #settle: (end: JobEnd) => void = () => {};
  #phase: 'waiting' | 'loading' | 'giving' | 'running' | 'closing' | 'ended' = 'waiting';
  #host: Host | undefined;
  /** Hosts that it was given to. */
  #given = 0;
  /** Made when something is written there, which most handlers do not. */
  #stdout: OutputLines | undefined;
  #stderr: OutputLines | undefined;
  #n = 0;
  #mark: Mark | undefined;
  #outcome: CallOutcome | undefined;
  #stopReason: StopReason | undefined;
  #killAt = Number.POSITIVE_INFINITY;
  #killTimer: Timer | undefined;
  #killedForStop = false;
  #moreTimer: Timer | undefined;
  #effectAsked = false;

  constructor(job: Job, listener: JobListener, ctx: JobRunContext) {
    this.job = job;
    this.#listener = listener;
    this.#ctx = ctx;
    this.#log = new JobLog(ctx.clock, (lines) => this.#live() && listener.log(lines));
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get pid(): number | undefined {
    return this.#host?.process.pid;
  }

  get host(): string | undefined {
    return this.#host?.process.id;
  }

  get waiting(): boolean {
    return this.#phase === 'waiting';
  }

  /** Runs the job on this host, which is this job's alone from now on. */
  async runOn(host: Host): Promise<void> {
    this.#host = host;
    this.#phase = 'loading';
    // Nothing is awaited on a warm host: this is the short way of every job.
    const failure = host.loaded ? undefined : ((await host.ready) ?? this.#unfit(host));
    if (this.#stopReason !== undefined) return this.#closed({ how: 'stopped' });
    if (failure) return this.#closed({ how: 'not-begun', error: failure });
    // A task that ends its agent at once comes back to a fresh host each time: there the mark wins for certain.
    const told =
      host.calls === 0 ? giving(this.#listener, this.#ctx.clock, host.process.id) : undefined;
    if (told !== undefined) {
      await told;
      if (this.#stopReason !== undefined) return this.#closed({ how: 'stopped' });
      if (host.process.over || host.retired !== undefined) return this.#wentMeanwhile(host);
    }
    this.#begin(host, told !== undefined);
  }

  #unfit(host: Host): TaskFailure | undefined {
    const failure = host.unfit(this.job);
    if (failure === undefined) return undefined;
    host.retire('its file has changed');
    host.process.kill();
    return failure;
  }

  async #wentMeanwhile(host: Host): Promise<void> {
    host.process.kill();
    const gone = await host.process.gone;
    this.#given++;
    this.#notTaken(host, gone);
  }

  /** Ends a job that has no host. */
  giveUp(error: TaskFailure): void {
    if (this.#phase === 'waiting') this.#end({ how: 'not-begun', error });
  }

  openGate(): void {
    this.#send({ t: 'gate', n: this.#n });
  }

  refuseGate(why: string): void {
    this.#send({ t: 'gate', n: this.#n, refused: why });
  }

  stop(reason: StopReason, graceMs: number): void {
    const first = this.#stopReason === undefined;
    this.#stopReason ??= reason;
    if (this.#phase === 'waiting') {
      this.#ctx.leftQueue(this);
      this.#end({ how: 'stopped' });
    } else if (this.#phase === 'loading') {
      // Nothing has begun, so there is nothing to be graceful to.
      this.#host?.retire('its only job was stopped');
      this.#host?.process.kill();
    } else if (this.#atHost) {
      // Also while it is given: that it was taken may be on its way.
      if (first) this.#send({ t: 'stop', n: this.#n, reason: this.#stopReason });
      this.#killWithin(graceMs);
    }
  }

  frame(frame: FromHost): void {
    if (frame.t === 'tainted') {
      this.#host?.taint(frame.why);
      return;
    }
    if (!('n' in frame) || frame.n !== this.#n || this.#outcome !== undefined) return;
    this.#taken();
    switch (frame.t) {
      case 'progress':
        this.#listener.progress(frame.update);
        this.#moreTimer ??= this.#ctx.clock.timer(hostDefaults.progressEveryMs, () => {
          this.#moreTimer = undefined;
          this.#send({ t: 'more', n: this.#n });
        });
        break;
      case 'log':
        this.#log.add(frame.level, frame.text);
        break;
      case 'effect':
        if (!this.#effectAsked) this.#listener.effectRequested();
        this.#effectAsked = true;
        break;
      case 'end':
        this.#outcome = frame.outcome;
        this.#log.drop(frame.logBytesDropped);
        this.#phase = 'closing';
        void this.#close(frame.outcome);
        break;
    }
  }

  output(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    if (stream === 'stdout') {
      this.#stdout ??= new OutputLines(this.#log, 'info');
      this.#stdout.push(chunk);
    } else {
      this.#stderr ??= new OutputLines(this.#log, 'warn');
      this.#stderr.push(chunk);
    }
  }

  stuck(): void {
    this.#safely(() => this.#listener.stuck?.());
  }

  gone(gone: HostGone): void {
    if (!this.#atHost) return;
    const host = this.#host as Host;
    host.retire(`it has ended (${exitText(gone)})`);
    if (this.#phase === 'giving') {
      const { killReason } = gone;
      if (killReason === undefined || killReason === NOT_TAKEN) {
        this.#notTaken(host, gone);
        return;
      }
      // Its channel was meddled with: what it said there may be lost.
      this.#taken();
    }
    this.#phase = 'closing';
    void this.#closed(
      this.#killedForStop
        ? { how: 'killed' }
        : died(gone, host.process.stderrTail.text.trim(), this.#ctx.kernelKills),
    );
  }

  #begin(host: Host, marked: boolean): void {
    const { job } = this;
    this.#n = ++host.calls;
    let input: Buffer;
    try {
      input = encodeFrame({ t: 'run', n: this.#n, job });
    } catch (error) {
      const message = `The input cannot be handed to the handler: ${(error as Error).message}`;
      const failure = { code: 'INPUT_INVALID', message, retryable: false };
      void this.#closed({ how: 'not-begun', error: failure });
      return;
    }
    this.#phase = 'giving';
    this.#given++;
    host.process.stderrTail.clear();
    host.hear(this);
    this.#mark = this.#ctx.newProcesses.mark();
    this.#ctx.kernelKills.refresh();
    // Issued first and not waited for: the host has to read and to answer before it calls the handler.
    if (!marked) this.#safely(() => void this.#listener.giving?.(host.process.id));
    host.process.write(input);
    // A fresh host can only be slow (every core may be busy); what an earlier call left can keep one for ever.
    if (this.#n > 1) this.#ctx.taking.add(this);
  }

  #taken(): void {
    if (this.#phase !== 'giving') return;
    this.#phase = 'running';
    this.#ctx.taking.delete(this);
    this.#safely(() => this.#listener.begun());
  }

  /** Its host has had the time to take it. */
  async takeLate(): Promise<void> {
    const host = this.#host;
    // It may have said so while we did not look (this process was stopped, or busy).
    await drained();
    if (host !== undefined && this.#phase === 'giving' && this.#host === host)
      host.process.kill(NOT_TAKEN);
  }

  /** Its host is gone and has not called the handler, for it says so before it does. */
  #notTaken(host: Host, gone: HostGone): void {
    this.#ctx.taking.delete(this);
    this.#phase = 'closing';
    if (this.#stopReason !== undefined) {
      void this.#closed({ how: 'stopped' });
      return;
    }
    tellNotTaken(this.#ctx.log, host, gone);
    if (this.#given >= hostDefaults.takeHosts) {
      // That hosts end by themselves with this task is the task's own fault (F41); one that must be killed is busy.
      void this.#closed(
        gone.killReason === undefined
          ? died(gone, host.process.stderrTail.text.trim(), this.#ctx.kernelKills)
          : { how: 'not-begun', error: notTakenByAny(this.#given, host, gone) },
      );
      return;
    }
    host.hear(undefined);
    this.#host = undefined;
    this.#phase = 'waiting';
    this.#ctx.released(host);
    this.#ctx.again(this);
  }

  #killWithin(graceMs: number): void {
    const at = this.#ctx.clock.now() + Math.max(0, graceMs);
    if (at >= this.#killAt) return;
    this.#killAt = at;
    this.#killTimer?.cancel();
    const kill = () => {
      if (!this.#atHost) return;
      this.#killedForStop = true;
      this.#host?.process.kill();
    };
    if (graceMs <= 0) kill();
    else this.#killTimer = this.#ctx.clock.timer(graceMs, kill);
  }

  /** The handler has said how it ended: reads its output to the end and clears away what it left. */
  async #close(outcome: CallOutcome): Promise<void> {
    const host = this.#host as Host;
    const look = await this.#ctx.ends.next();
    const left = this.#ctx.newProcesses
      .between(this.#mark as Mark, look, host.process.kin)
      ?.filter((pid) => !host.kept.has(pid));
    if (left === undefined) host.retire('what its call left behind cannot be seen on this system');
    else if (left.length > 0) {
      host.retire(`its call left processes behind (${left.join(', ')})`);
      this.#safely(() => this.#log.add('warn', leftRunning(left)));
    }
    if (this.#ctx.spoils(outcome)) host.retire('its call failed for a reason of this host');
    if (this.#stopReason !== undefined) host.retire('its call was stopped');
    if (host.process.outputClosed) host.retire('its call closed its output');
    await this.#closed(outcome);
  }

  /** A retired host has to be gone before the job has ended: only then nothing of the handler runs. */
  async #closed(end: JobEnd): Promise<void> {
    const host = this.#host as Host;
    if (host.retired !== undefined || host.process.over) {
      host.process.kill();
      await host.process.gone;
    }
    host.hear(undefined);
    this.#safely(() => {
      this.#stdout?.end();
      this.#stderr?.end();
      this.#log.end();
    });
    this.#ctx.released(host);
    this.#end(end);
  }

  /** Whoever hears it may be at fault: the job goes on to its end all the same. */
  #safely(say: () => void): void {
    try {
      say();
    } catch (error) {
      const text = `What a handler said could not be delivered: ${String(error)}`;
      this.#ctx.log.error('host.not-heard', text, { stack: (error as Error)?.stack });
    }
  }

  #end(end: JobEnd): void {
    this.#phase = 'ended';
    this.#ctx.taking.delete(this);
    this.#killTimer?.cancel();
    this.#moreTimer?.cancel();
    this.#settle(end);
  }

  get #atHost(): boolean {
    return this.#phase === 'giving' || this.#phase === 'running';
  }

  #live(): boolean {
    return this.#phase !== 'ended';
  }

  #send(frame: Parameters<typeof encodeFrame>[0]): void {
    if (this.#atHost) this.#host?.process.write(encodeFrame(frame));
  }
}
