/**
 * One job of the carrier `process`. Phases: waiting → loading → giving → running → closing → ended.
 *   waiting  no host yet
 *   loading  a host is starting and loads the module; the handler has not begun
 *   giving   its input is on its way to the host; left when the host has taken it. One that does not take it is
 *            killed, or has ended: nothing has begun, and the job is `waiting` again, for another host
 *   running  the handler has its input; left by what it says, or by the end of its host
 *   closing  its outcome is known; output is read to its end, what it left behind is killed and waited for
 *   ended    `ended` has settled and nobody is called any more
 * A short one may wait in a host behind others (`HostJobs`): it is `giving` until it is known that it has begun.
 */
import type { TaskFailure } from '../contract/errors.ts';
import { hostDefaults } from '../core/defaults.ts';
import { type CallOutcome, encodeFrame, type FromHost, type ToHost } from '../handler/protocol.ts';
import type { Job, JobEnd, JobListener, RunningJob, StopReason } from '../ports/carrier.ts';
import { drained } from './call-ends.ts';
import { giving } from './giving.ts';
import { exitText, type Host } from './host.ts';
import {
  died,
  endNotTaken,
  endUnfit,
  leftRunning,
  NOT_TAKEN,
  tellNotTaken,
  tooLarge,
} from './host-ends.ts';
import type { HostJobs } from './host-jobs.ts';
import type { HostGone, HostListener } from './host-process.ts';
import type { JobRunContext } from './job-context.ts';
import { JobOutput, NO_JOB, nobody, safely } from './job-output.ts';
import type { Mark } from './new-processes.ts';
import { StopGrace } from './stop-grace.ts';

export class JobRun implements RunningJob, HostListener {
  job: Job;
  readonly ended: Promise<JobEnd>;
  readonly #ctx: JobRunContext;
  #listener: JobListener;
  readonly #out: JobOutput;
  #settle: (end: JobEnd) => void = () => {};
  #phase: 'waiting' | 'loading' | 'giving' | 'running' | 'closing' | 'ended' = 'waiting';
  #host: Host | undefined;
  /** The others of its host, where it was given as a short one. */
  #jobs: HostJobs | undefined;
  /** Hosts that it was given to. */
  #given = 0;
  #n = 0;
  /** That it has begun; a host may have been about to when it was forbidden, and then it is another that does. */
  #told = false;
  #mark: Mark | undefined;
  #outcome: CallOutcome | undefined;
  #stopReason: StopReason | undefined;
  readonly #grace: StopGrace;
  #killedForStop = false;

  constructor(job: Job, listener: JobListener, ctx: JobRunContext) {
    this.job = job;
    this.#listener = listener;
    this.#ctx = ctx;
    this.#out = new JobOutput(ctx.clock, listener);
    this.#grace = new StopGrace(ctx.clock, () => this.killNow());
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
  /** What it said itself, once it is known. */
  get outcome(): CallOutcome | undefined {
    return this.#outcome;
  }
  get stopped(): boolean {
    return this.#stopReason !== undefined;
  }

  /** Runs the job on this host, which is this job's alone from now on. */
  async runOn(host: Host): Promise<void> {
    this.#host = host;
    this.#phase = 'loading';
    // Nothing is awaited on a warm host: this is the short way of every job.
    const failure = host.loaded ? undefined : ((await host.ready) ?? endUnfit(host, this.job));
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

  /** Gives it to a host that others may be in. */
  giveTo(host: Host, jobs: HostJobs): void {
    this.#host = host;
    this.#jobs = jobs;
    this.#given++;
    this.#phase = 'giving';
    const { vacant } = jobs;
    try {
      this.#n = jobs.give(this);
    } catch (error) {
      this.over({ how: 'not-begun', error: tooLarge(error) });
      jobs.unused();
      return;
    }
    // Issued and not waited for.
    const tell = () => void this.#listener.giving?.(host.process.id);
    if (vacant) jobs.ifAlone(this.#n, () => safely(this.#ctx.log, tell));
  }

  /** Its host has not begun it and never will. */
  back(): void {
    if (!this.#atHost) return;
    this.#given--;
    this.#host = undefined;
    this.#jobs = undefined;
    if (this.#stopReason !== undefined) {
      this.over({ how: 'stopped' });
      return;
    }
    this.#phase = 'waiting';
    this.#ctx.again(this);
  }

  /** Its host has gone. @param first of those that are in it; the others were only behind it. */
  hostGone(gone: HostGone, begun: boolean, first: boolean): void {
    if (begun) this.taken();
    if (this.#phase === 'giving' && !first) this.back();
    else this.gone(gone);
  }

  /** Nothing of it runs any more. */
  over(end: JobEnd): void {
    safely(this.#ctx.log, () => this.#out.end());
    this.#end(end);
  }

  warn(text: string): void {
    safely(this.#ctx.log, () => this.#out.add('warn', text));
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
      if (graceMs <= 0) this.killNow();
      else this.#grace.begin(graceMs);
    }
  }

  frame(frame: FromHost): void {
    if (frame.t === 'tainted') this.#host?.taint(frame.why);
    if (!('n' in frame) || frame.n !== this.#n || this.#outcome !== undefined) return;
    this.taken(frame.t === 'end' ? frame.tookUs / 1_000 : 0);
    if (frame.t !== 'end') {
      this.#out.heard(frame, () => this.#send({ t: 'more', n: this.#n }));
      return;
    }
    this.#outcome = frame.outcome;
    this.#phase = 'closing';
    this.#out.drop(frame.logBytesDropped);
    this.#ctx.times(this.job).add(frame.tookUs / 1_000);
    if (this.#jobs === undefined) void this.#close(frame.outcome);
  }

  output(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    this.#out.printed(stream, chunk);
  }

  stuck(): void {
    safely(this.#ctx.log, () => this.#listener.stuck?.());
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
      this.taken();
    }
    this.#phase = 'closing';
    void this.#closed(
      this.#killedForStop
        ? { how: 'killed' }
        : died(gone, host.process.stderrTail.text.trim(), this.#ctx.kernelKills),
    );
  }

  #begin(host: Host, marked: boolean): void {
    this.#n = ++host.calls;
    let input: Buffer;
    try {
      input = encodeFrame({ t: 'run', n: this.#n, job: this.job });
    } catch (error) {
      void this.#closed({ how: 'not-begun', error: tooLarge(error) });
      return;
    }
    this.#phase = 'giving';
    this.#given++;
    host.process.stderrTail.clear();
    host.hear(this);
    this.#mark = this.#ctx.newProcesses.mark();
    this.#ctx.kernelKills.refresh();
    // Issued first and not waited for: the host has to read and to answer before it calls the handler.
    if (!marked) safely(this.#ctx.log, () => void this.#listener.giving?.(host.process.id));
    host.process.write(input);
    // A fresh host can only be slow (every core may be busy); what an earlier call left can keep one for ever.
    if (this.#n > 1) this.#ctx.taking.add(this);
  }

  /** It has begun, so long ago. */
  taken(agoMs = 0): void {
    if (this.#phase !== 'giving') return;
    this.#phase = 'running';
    if (this.#jobs === undefined) this.#ctx.taking.delete(this);
    if (!this.#told) safely(this.#ctx.log, () => this.#listener.begun(agoMs));
    this.#told = true;
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
      void this.#closed(endNotTaken(this.#given, host, gone, this.#ctx.kernelKills));
      return;
    }
    host.hear(undefined);
    this.#host = undefined;
    this.#jobs = undefined;
    this.#phase = 'waiting';
    this.#ctx.released(host);
    this.#ctx.again(this);
  }

  killNow(): void {
    if (!this.#atHost) return;
    this.#killedForStop = this.#jobs?.endFor(this, this.#n) ?? true;
    if (this.#jobs === undefined) this.#host?.process.kill();
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
      this.warn(leftRunning(left, 1));
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
    this.#ctx.released(host);
    this.over(end);
  }

  #end(end: JobEnd): void {
    this.#phase = 'ended';
    this.#ctx.taking.delete(this);
    this.#grace.end();
    this.#settle(end);
    this.job = NO_JOB;
    this.#listener = nobody;
  }

  get #atHost(): boolean {
    return this.#phase === 'giving' || this.#phase === 'running';
  }

  #send(frame: ToHost): void {
    if (!this.#atHost) return;
    if (this.#jobs !== undefined) this.#jobs.send(frame);
    else this.#host?.process.write(encodeFrame(frame));
  }
}
