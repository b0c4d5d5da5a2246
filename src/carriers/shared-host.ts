/**
 * A host that several jobs run in at once. Phases: loading → working ⇄ idle → retired (takes no further job, and is
 * ended as soon as none is in it) → gone. What it is told in one turn is written as one piece.
 */
import { type CallTimes, mayBeginUnmarked } from '../core/jobs-ahead.ts';
import { PassingMap } from '../core/passing-map.ts';
import { FrameBatch } from '../handler/frame-batch.ts';
import type { FromHost, ToHost } from '../handler/protocol.ts';
import type { HandlerCode, Job, JobEnd } from '../ports/carrier.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { Host, type HostContext, type NotReady } from './host.ts';
import type { HostGone, HostListener, HostProcess } from './host-process.ts';
import { ifAlone } from './if-alone.ts';
import { JobLog } from './job-log.ts';
import type { KernelKills } from './out-of-memory.ts';
import { OutputLines } from './output-lines.ts';
import { type Blame, blamed, endOfShared, exitOf, replacedAfter, tellEnd } from './shared-ends.ts';
import { callOf, type SharedRun } from './shared-run.ts';
import { SharedWatch } from './shared-watch.ts';

export interface SharedHostContext extends Omit<HostContext, 'tainted'> {
  readonly callsMax: number;
  readonly pingMs: number;
  /** One that has not answered for this long, with several jobs in it, is ended. */
  readonly heldMs: number;
  readonly idleMs: number;
  readonly kernelKills: KernelKills;
  readonly callTimes: () => Pick<CallTimes, 'add' | 'shortMs'>;
  readonly spoils: (end: JobEnd) => boolean;
  /** These may have ended it. */
  suspect(runs: readonly SharedRun[]): void;
  /** The job needs another host: this one has gone, or takes no more, and has not begun it. */
  again(run: SharedRun, host: Host, gone: HostGone | undefined): void;
  /** It has no job any more. */
  idle(host: SharedHost): void;
  /** It has had no job for a while. */
  rested(host: SharedHost): void;
}

export class SharedHost implements HostListener {
  readonly file: string;
  readonly code: HandlerCode | undefined;
  callsMax: number;
  readonly #host: Host;
  readonly #ctx: SharedHostContext;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #out: FrameBatch;
  readonly #runs = new PassingMap<number, SharedRun>();
  readonly #waiting = new Set<SharedRun>();
  readonly #times: ReturnType<SharedHostContext['callTimes']>;
  /** A job has begun in it. */
  #used = false;
  /** The task that has called `process.exit`. */
  #exiting: SharedRun | undefined;
  /** For whom the worker has ended it. */
  #blame: Blame | undefined;
  readonly #endedFor = new Set<SharedRun>();
  readonly #watch: SharedWatch;
  #rest: Timer | undefined;
  #output: Record<'stdout' | 'stderr', OutputLines> | undefined;

  constructor(file: string, code: HandlerCode | undefined, context: SharedHostContext) {
    this.file = file;
    this.code = code;
    this.callsMax = context.callsMax;
    this.#times = context.callTimes();
    this.#ctx = context;
    this.#clock = context.clock;
    this.#log = context.log;
    this.#host = new Host(file, code, { ...context, tainted: () => {} });
    this.#out = new FrameBatch((bytes) => this.#host.process.write(bytes));
    this.#watch = new SharedWatch(context, {
      ask: () => this.#out.add({ t: 'ping' }),
      runs: () => [...this.#runs.values()],
      host: this,
    });
    void this.#host.ready.then((failure) => this.#ready(failure));
  }

  get process(): HostProcess {
    return this.#host.process;
  }

  /** `undefined` when its module is loaded. Never rejects. */
  get ready(): Promise<NotReady | undefined> {
    return this.#host.ready;
  }

  get calls(): number {
    return this.#host.calls;
  }

  get retired(): string | undefined {
    return this.#host.retired;
  }

  /** One of its handlers does not let it answer. */
  get heldUp(): boolean {
    return this.#watch.heldUp;
  }

  /** Takes further jobs. */
  get open(): boolean {
    return this.#host.retired === undefined && !this.#host.process.over;
  }

  /** See `Host.unfit`. */
  fits(job: Job): boolean {
    return this.#host.unfit(job) === undefined;
  }

  get jobs(): number {
    return this.#runs.size + this.#waiting.size;
  }

  retire(why: string): void {
    this.#host.retire(why);
  }

  take(run: SharedRun): void {
    run.at(this);
    if (!this.#host.loaded) this.#waiting.add(run);
    else if (this.#used) {
      const seenLater = this.#maySeeLater(run.job);
      const isFirst = this.#runs.size === 0;
      if (!seenLater) run.tellGiving(this);
      this.#give(run);
      if (seenLater && isFirst) ifAlone(this.#runs, run.n, () => run.tellGiving(this));
    } else void this.#giveFirst(run);
  }

  /** A short one: among others, that it begins is marked only if it is still at work a moment later, as in a host with jobs ahead. */
  #maySeeLater(job: Job): boolean {
    return this.#times.shortMs !== undefined && mayBeginUnmarked(job);
  }

  /** It was stopped before it was given. */
  notWaiting(run: SharedRun): void {
    this.#waiting.delete(run);
    this.#freed();
  }

  send(run: SharedRun, frame: ToHost): void {
    if (this.#runs.get(run.n) === run && !this.#host.process.over) this.#out.add(frame);
  }

  ping(): void {
    this.#watch.ask();
  }

  /** Ends the process, and so all in it, for one that has not obeyed its stop in time. */
  endFor(run: SharedRun): void {
    if (this.#runs.get(run.n) !== run) return;
    // Also where it is being ended for another: this one has not obeyed either.
    this.#endedFor.add(run);
    if (this.process.over) return;
    const { taskId } = run.job;
    // Else one of the others may have kept it from hearing that it has to stop.
    if (run.phase === 'running' && (this.#watch.answered || this.#begun.length === 1))
      this.#blame = { run, did: `did not stop in its time (${run.stopReason})` };
    else
      this.endHeld(
        `held its thread while task ${taskId} had to stop (${run.stopReason}) and could not hear it`,
      );
    this.process.kill();
  }

  /** Ends the process because one task lets none of the others go on. Which, is known where only one has begun. */
  endHeld(did: string): void {
    const [run, ...others] = this.#begun;
    this.#blame = { did, ...(run !== undefined && others.length === 0 && { run }) };
    this.process.kill();
  }

  get #begun(): SharedRun[] {
    return [...this.#runs.values()].filter(({ phase }) => phase === 'running');
  }

  /** What no call has printed, or none that can be told. */
  output(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    if (this.#output === undefined) {
      const { pid } = this.process;
      const lines = new JobLog(this.#clock, (lines) => {
        for (const { text } of lines) this.#log.info('host.output', text, { pid, file: this.file });
      });
      const of = () => new OutputLines(lines, 'info');
      this.#output = { stdout: of(), stderr: of() };
    }
    this.#output[stream].push(chunk);
  }

  stuck(): void {
    for (const run of this.#runs.values()) run.stuck();
  }

  frame(frame: FromHost): void {
    switch (frame.t) {
      case 'took':
        this.#used = true;
        for (const n of frame.ns) this.#runs.get(n)?.taken();
        break;
      case 'end': {
        const run = this.#runs.get(frame.n);
        if (run === undefined) break;
        this.#runs.delete(frame.n);
        this.#times.add(frame.tookUs / 1_000);
        if (this.#ctx.spoils(frame.outcome))
          this.#host.retire('a call failed for a reason of this host');
        if (this.process.outputClosed) this.#host.retire('a call closed its output');
        // Before it is told: who asks for the next finds this one free, or gone.
        this.#freed();
        run.outcome(frame.outcome, frame.logBytesDropped);
        break;
      }
      case 'pong':
        this.#watch.heard();
        break;
      case 'exits':
        this.#exiting = this.#runs.get(frame.n);
        break;
      case 'tainted':
        this.#host.taint(frame.why, replacedAfter(this.#begun));
        this.#freed();
        break;
      case 'progress':
      case 'log':
      case 'effect':
        this.#runs.get(frame.n)?.heard(frame);
    }
  }

  gone(seen: HostGone): void {
    this.#watch.end();
    this.#rest?.cancel();
    const runs = [...this.#runs.values()];
    const begun = this.#begun;
    this.#runs.clear();
    const blame = this.#blame ?? exitOf(this.#exiting, seen);
    const gone = { ...seen, ...(this.#blame && { killReason: blamed(this.#blame) }) };
    if (begun.length > 0) {
      const deaf = begun.filter((run) => this.#endedFor.has(run));
      this.#ctx.suspect(blame?.run ? [...new Set([blame.run, ...deaf])] : begun);
      tellEnd(this.#log, this, gone, begun, blame);
    }
    const stderr = this.process.stderrTail.text.trim();
    const end = endOfShared(gone, stderr, this.#ctx.kernelKills, begun, blame);
    for (const run of runs) {
      if (run.phase === 'running') run.end(this.#endedFor.has(run) ? { how: 'killed' } : end(run));
      else if (run.stopReason !== undefined) run.end({ how: 'stopped' });
      else this.#ctx.again(run, this.#host, gone);
    }
    for (const stream of Object.values(this.#output ?? {})) stream.end();
  }

  async #ready(notLoaded: NotReady | undefined): Promise<void> {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    const unfit = () => waiting.map(({ job }) => this.#host.unfit(job)).find(Boolean);
    const failure = notLoaded ?? unfit();
    if (failure) {
      this.#host.retire('its file has changed');
      // Until then it may still run something of the module.
      this.process.kill();
      await this.process.gone;
      for (const run of waiting) run.giveUp(failure);
      return;
    }
    this.#host.hear(this);
    for (const run of waiting) this.take(run);
    this.#freed();
  }

  /** A task that ends its agent at once comes back to a fresh host each time: there the mark wins for certain. */
  async #giveFirst(run: SharedRun): Promise<void> {
    this.#waiting.add(run);
    await run.giving(this);
    if (!this.#waiting.delete(run)) return;
    if (this.open) return this.#give(run);
    const gone = this.process.over ? await this.process.gone : undefined;
    if (gone !== undefined) run.given++;
    if (run.stopReason !== undefined) run.end({ how: 'stopped' });
    else this.#ctx.again(run, this.#host, gone);
    this.#freed();
  }

  #give(run: SharedRun): void {
    const { job } = run;
    run.n = ++this.#host.calls;
    try {
      this.#out.add({ t: 'run', n: run.n, job: callOf(job) });
    } catch (error) {
      const message = `The input cannot be handed to the handler: ${(error as Error).message}`;
      run.giveUp({ code: 'INPUT_INVALID', message, retryable: false });
      this.#freed();
      return;
    }
    run.phase = 'given';
    run.given++;
    this.#runs.set(run.n, run);
    this.#watch.begin();
  }

  #freed(): void {
    if (this.jobs > 0) return;
    this.#ctx.idle(this);
    if (this.open) this.#rest ??= this.#restTimer();
  }

  /** One timer for many pauses: it is seen afterwards whether there was a job meanwhile. */
  #restTimer(): Timer {
    const { calls } = this;
    return this.#clock.timer(this.#ctx.idleMs, () => {
      this.#rest = undefined;
      if (this.jobs > 0 || !this.open) return;
      if (this.calls === calls) this.#ctx.rested(this);
      else this.#rest = this.#restTimer();
    });
  }
}
