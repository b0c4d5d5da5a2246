/**
 * The short jobs that are in one host: it runs them strictly one after the other, in the order in which they are given. What
 * is given in one turn is one write, and what has ended in one turn is looked at together. A job has begun when its host's flight
 * recorder or a word of it says so; the others are taken back when the first is slow, and are given again when the host goes.
 */
import { aheadInHostDefaults } from '../core/defaults.ts';
import { slowHead, takesMore } from '../core/jobs-ahead.ts';
import { PassingMap } from '../core/passing-map.ts';
import { FrameBatch } from '../handler/frame-batch.ts';
import type { CallOutcome, FromHost, ToHost } from '../handler/protocol.ts';
import { drained } from './call-ends.ts';
import { exitText, type Host } from './host.ts';
import { leftRunning, NOT_TAKEN } from './host-ends.ts';
import type { HostGone, HostListener } from './host-process.ts';
import { ifAlone } from './if-alone.ts';
import type { JobRunContext } from './job-context.ts';
import type { JobRun } from './job-run.ts';
import type { Mark } from './new-processes.ts';
import { callOf } from './shared-run.ts';

export class HostJobs implements HostListener {
  readonly #host: Host;
  readonly #ctx: JobRunContext;
  readonly #out: FrameBatch;
  /** Not ended, in their order. */
  readonly #jobs = new PassingMap<number, JobRun>();
  /** Ended, and not looked at what they left behind. */
  #ended: JobRun[] = [];
  #looking = false;
  /** The last that is known to have begun. */
  #begun = 0;
  /** Since when the first is the first; and since when it was seen at work. */
  #headAt = 0;
  #seenAt: number | undefined;
  #busyAt = 0;
  #recalledAt: number | undefined;
  /** It was asked for its jobs, did not answer, and they are elsewhere. */
  #deaf = false;
  #watched = false;
  #mark: Mark | undefined;

  constructor(host: Host, ctx: JobRunContext) {
    this.#host = host;
    this.#ctx = ctx;
    this.#out = new FrameBatch((bytes) => host.process.write(bytes));
  }

  /** Whether it is given one more of these calls before another host is woken. */
  takes(shortMs: number): boolean {
    const { process, retired } = this.#host;
    if (retired !== undefined || process.over || this.#deaf || this.#recalledAt !== undefined)
      return false;
    const busyMs = this.#ctx.clock.now() - this.#busyAt;
    return takesMore({ jobs: this.#jobs.size, slow: this.#seenAt !== undefined, busyMs }, shortMs);
  }

  /** What it is given next does not wait there. */
  get vacant(): boolean {
    return this.#jobs.size === 0;
  }

  /** See `ifAlone`. */
  ifAlone(n: number, tell: () => void): void {
    ifAlone(this.#jobs, n, tell);
  }

  /** @returns its number. Throws a RangeError where its input is too large. */
  give(run: JobRun): number {
    const host = this.#host;
    const { clock, kernelKills, newProcesses } = this.#ctx;
    const n = host.calls + 1;
    this.#out.add({ t: 'run', n, job: callOf(run.job), short: true });
    host.calls = n;
    const now = clock.now();
    if (this.#empty) {
      // What it was asked before may have been answered to nobody.
      this.#recalledAt = undefined;
      this.#deaf = false;
      this.#busyAt = now;
      this.#mark = newProcesses.mark();
      kernelKills.refresh();
      host.process.stderrTail.clear();
      host.hear(this);
    }
    if (this.#jobs.size === 0) this.#newHead(now);
    this.#jobs.set(n, run);
    this.#watch();
    return n;
  }

  /** The host was taken, and not given anything. */
  unused(): void {
    this.#settled();
  }

  send(frame: ToHost): void {
    this.#out.add(frame);
  }

  /**
   * It was to stop, and its time is over: ends its host, which is its alone or it is at work. `false`: it only waits there, and
   * the one that runs is not to die for it.
   */
  endFor(run: JobRun, n: number): boolean {
    this.#read();
    const [first] = this.#jobs.keys();
    if (this.#jobs.get(n) !== run) return false;
    if (n <= this.#begun || n === first) {
      this.#host.process.kill();
      return true;
    }
    // The host has read that it stops before it begins another: then it is nobody's.
    this.#ctx.clock.timer(aheadInHostDefaults.heldMs, async () => {
      if (this.#jobs.get(n) === run) await this.#withdraw();
      // It has begun all the same, or nobody can tell.
      if (this.#jobs.get(n) === run && n <= this.#begun) run.killNow();
    });
    return false;
  }

  frame(frame: FromHost): void {
    if (frame.t === 'end') {
      const run = this.#jobs.get(frame.n);
      if (run === undefined) return;
      this.#jobs.delete(frame.n);
      this.#begun = Math.max(this.#begun, frame.n);
      this.#newHead(this.#ctx.clock.now());
      run.frame(frame);
      this.#ended.push(run);
      void this.#close();
    } else if (frame.t === 'back') {
      this.#recalledAt = undefined;
      this.#deaf = false;
      // Whatever the recorder says: it did not call the handler.
      this.#takeBack(frame.ns, 0);
      this.#settled();
    } else if (frame.t === 'tainted') this.#host.taint(frame.why);
    else if ('n' in frame && this.#jobs.has(frame.n)) {
      this.#begun = Math.max(this.#begun, frame.n);
      this.#jobs.get(frame.n)?.frame(frame);
    }
  }

  /** Past the streams of its process, whose words come with their number: it is its who runs. */
  output(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    const [run = this.#ended.at(-1)] = this.#jobs.values();
    if (run === undefined) return;
    // From now on each has the process to itself, so that this is known for certain.
    this.#ctx.times(run.job).apart();
    run.output(stream, chunk);
  }

  stuck(): void {
    for (const run of [...this.#jobs.values(), ...this.#ended]) run.stuck();
  }

  gone(gone: HostGone): void {
    this.#host.retire(`it has ended (${exitText(gone)})`);
    const read = this.#read();
    const left = [...this.#jobs];
    this.#jobs.clear();
    for (const [i, [n, run]] of left.entries())
      run.hostGone(gone, n <= this.#begun || (i === 0 && !read), i === 0);
    this.#settled();
  }

  /** `SameWait` tells that the first may be slow. */
  async look(): Promise<void> {
    this.#watched = false;
    const { clock, takeMs } = this.#ctx;
    if (this.#jobs.size === 0) return;
    if (clock.now() - this.#headAt < aheadInHostDefaults.slowMs) {
      this.#watch();
      return;
    }
    // It may have said so while we did not look (this process was stopped, or busy).
    await drained();
    if (this.#host.process.over) return;
    this.#read();
    const [first] = this.#jobs;
    if (first === undefined) return;
    const [n, head] = first;
    const now = clock.now();
    const since = (at: number | undefined) => (at === undefined ? undefined : now - at);
    if (n <= this.#begun) {
      head.taken();
      this.#seenAt ??= now;
    }
    const step = slowHead(
      {
        headMs: now - this.#headAt,
        begunMs: since(this.#seenAt),
        waiting: this.#jobs.size - 1,
        recalledMs: since(this.#recalledAt),
      },
      takeMs,
    );
    if (step === 'kill') this.#host.process.kill(NOT_TAKEN);
    else if (step === 'recall') this.#recall();
    else if (step === 'move') await this.#withdraw();
    // Soon only where another look decides.
    if (step !== 'rest') this.#watch(step === 'look-again' && this.#seenAt !== undefined);
  }

  get #empty(): boolean {
    return this.#jobs.size === 0 && this.#ended.length === 0;
  }

  #newHead(now: number): void {
    this.#headAt = now;
    this.#seenAt = undefined;
  }

  #watch(soon = true): void {
    if (this.#watched) return;
    this.#watched = true;
    (soon ? this.#ctx.slow : this.#ctx.held).add(this);
  }

  /** Takes in what the flight recorder has. `false`: it could not be read. */
  #read(): boolean {
    const read = this.#host.process.recorded();
    if (read === undefined) return false;
    this.#begun = Math.max(this.#begun, read.begun);
    for (const frame of read.frames) if (frame.t === 'end') this.frame(frame);
    return true;
  }

  #recall(): void {
    if (this.#recalledAt !== undefined) return;
    this.#recalledAt = this.#ctx.clock.now();
    this.#out.add({ t: 'recall' });
    this.#out.flush();
  }

  /**
   * Takes back those behind the first without an answer. They are forbidden first, and what has begun is read then: the host
   * does it the other way round, so one of the two sees the other. Where that cannot be done they stay.
   */
  async #withdraw(): Promise<void> {
    const [first] = this.#jobs.keys();
    const last = this.#host.calls;
    if (first === undefined || !this.#host.process.forbid(last, first)) return;
    this.#deaf = true;
    this.#recall();
    // A begin that could not be recorded is on the channel.
    await drained();
    if (this.#host.process.over || !this.#read()) return;
    this.#takeBack([...this.#jobs.keys()].filter((n) => n !== first && n <= last));
  }

  #takeBack(ns: readonly number[], begun = this.#begun): void {
    const [first] = this.#jobs.keys();
    // In what follows others may be given: they find it as it is.
    if (first !== undefined && first > begun && ns.includes(first))
      this.#newHead(this.#ctx.clock.now());
    for (const n of ns) {
      const run = this.#jobs.get(n);
      if (run === undefined || n <= begun) continue;
      this.#jobs.delete(n);
      run.back();
    }
  }

  /** Those that have ended together: what they left behind is looked at, and goes with its host before they are over. */
  async #close(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    const { ends, newProcesses, spoils, times } = this.#ctx;
    const host = this.#host;
    const look = await ends.next();
    const left = newProcesses
      .between(this.#mark as Mark, look, host.process.kin)
      ?.filter((pid) => !host.kept.has(pid));
    for (const run of this.#ended) {
      if (run.outcome && spoils(run.outcome))
        host.retire('its call failed for a reason of this host');
      if (run.stopped) host.retire('its call was stopped');
    }
    if (host.process.outputClosed) host.retire('its call closed its output');
    if (this.#jobs.size > 0 && (host.retired !== undefined || left?.length !== 0)) {
      // It may be the next one's, and the next one's host: both are known, and done, when that has ended too.
      for (const { job } of this.#ended) if (left?.length !== 0) times(job).apart();
      this.#recall();
      this.#looking = false;
      return;
    }
    const over = [...this.#ended];
    if (left === undefined) host.retire('what its call left behind cannot be seen on this system');
    else if (left.length > 0) {
      host.retire(`a call left processes behind (${left.join(', ')})`);
      for (const run of over) run.warn(leftRunning(left, over.length));
    }
    if (host.retired !== undefined || host.process.over) {
      host.process.kill();
      await host.process.gone;
    }
    // Others may have ended since: they are looked at from here on.
    this.#mark = look;
    this.#ended = this.#ended.slice(over.length);
    this.#looking = false;
    for (const run of over) run.over(run.outcome as CallOutcome);
    if (this.#ended.length > 0) void this.#close();
    else this.#settled();
  }

  /** It may have nothing to do any more. */
  #settled(): void {
    if (this.#empty) {
      this.#host.hear(undefined);
      this.#ctx.released(this.#host);
    } else if (this.#jobs.size === 0) void this.#close();
  }
}
