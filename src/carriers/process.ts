/**
 * The carrier of the daemon: handlers run in child processes of our own program, kept warm. A host has one
 * handler's file loaded and runs one job at a time; there are never more of them than `maxHosts`. Woken by
 * `start`, by jobs that end and by the time of idle hosts; ends with `close`.
 */
import { aheadInHostDefaults, hostDefaults } from '../core/defaults.ts';
import { CallTimes, mayBeginUnmarked } from '../core/jobs-ahead.ts';
import { PassingMap } from '../core/passing-map.ts';
import type { HandlerCode, Job, JobListener, RunningJob } from '../ports/carrier.ts';
import { CallEnds } from './call-ends.ts';
import { Host } from './host.ts';
import { HostJobs } from './host-jobs.ts';
import { HostStarts } from './host-starts.ts';
import type { WearLimits } from './host-wear.ts';
import type { JobRunContext } from './job-context.ts';
import { JobRun } from './job-run.ts';
import { NewProcesses } from './new-processes.ts';
import { KernelKills } from './out-of-memory.ts';
import type { ProcessCarrier, ProcessCarrierOptions } from './process-carrier.ts';
import { SameWait } from './same-wait.ts';

export function createProcessCarrier(options: ProcessCarrierOptions): ProcessCarrier {
  return new HostPool(options);
}

class HostPool implements ProcessCarrier {
  readonly #options: ProcessCarrierOptions;
  readonly #hosts = new Set<Host>();
  readonly #idle: SameWait<Host>;
  /** With short jobs in them: they may be given more. The one that was woken last is the last. */
  readonly #short = new Map<Host, HostJobs>();
  /** By file. */
  readonly #times = new Map<
    string,
    { readonly code: string | undefined; readonly times: JobTimes }
  >();
  /** Started ahead of a job, not loaded yet. */
  readonly #warming = new Set<Host>();
  /** Replaced after their last job, and not gone yet. */
  readonly #worn = new Set<Host>();
  readonly #queue = new PassingMap<JobRun, true>();
  readonly #newProcesses: NewProcesses;
  readonly #context: JobRunContext;
  readonly #starts: HostStarts;
  readonly #wear: WearLimits;
  #closed = false;
  #maxHosts: number;
  #codes: ReadonlySet<string> | undefined;

  constructor(options: ProcessCarrierOptions) {
    this.#options = options;
    this.#maxHosts = options.maxHosts;
    this.#wear = {
      callsPerHost: options.callsPerHost ?? hostDefaults.callsPerHost,
      maxAgeMs: options.hostMaxAgeMs ?? hostDefaults.hostMaxAgeMs,
      growthBytes: hostDefaults.hostGrowthBytes,
      growthFromMs: hostDefaults.hostGrowthFromMs,
    };
    const { clock, log, hostCommand: command, env, marker, cwd, compileCache } = options;
    const { idleMs = hostDefaults.idleMs } = options;
    this.#newProcesses = new NewProcesses(clock);
    this.#starts = new HostStarts({
      spawn: { command, role: 'host', env, marker, cwd, compileCache },
      ...{ clock, log, newProcesses: this.#newProcesses, idleMs },
      room: () => this.#next(),
    });
    this.#idle = new SameWait(clock, idleMs, (host) => {
      host.retire('it was idle');
      this.#end(host);
    });
    const takeMs = options.takeMs ?? hostDefaults.takeMs;
    this.#context = {
      clock,
      newProcesses: this.#newProcesses,
      ends: new CallEnds(this.#newProcesses),
      kernelKills: new KernelKills(clock),
      log,
      taking: new SameWait(clock, takeMs, (run) => run.takeLate()),
      takeMs,
      slow: new SameWait(clock, aheadInHostDefaults.slowMs, (jobs) => void jobs.look()),
      held: new SameWait(clock, aheadInHostDefaults.heldMs, (jobs) => void jobs.look()),
      times: (job) => this.#timesOf(job),
      spoils: options.spoils ?? (() => false),
      again: (run) => this.#place(run),
      leftQueue: (run) => this.#queue.delete(run),
      released: (host) => this.#released(host),
    };
  }

  start(job: Job, listener: JobListener): RunningJob {
    const run = new JobRun(job, listener, this.#context);
    // Later in this turn: the caller has the job in hand before its listener is called.
    queueMicrotask(() => {
      if (run.waiting) this.#place(run);
    });
    return run;
  }

  prepare(): void {
    if (!this.#closed && this.#hosts.size < this.#maxHosts) this.#starts.prepare();
  }

  async warm(files: readonly string[]): Promise<void> {
    await Promise.all(files.map((file) => this.#warm(file, undefined)));
  }

  async #warm(file: string, code: HandlerCode | undefined): Promise<void> {
    if (this.#closed || this.#hosts.size >= this.#maxHosts) return;
    const host = this.#newHost(file, code);
    this.#warming.add(host);
    await host.ready;
    this.#warming.delete(host);
    this.#released(host);
  }

  keepOnly(codes: ReadonlySet<string>): void {
    this.#codes = codes;
    for (const host of this.#idle.items()) {
      if (!this.#replaced(host)) continue;
      host.retire(REPLACED);
      this.#end(host);
    }
    this.#next();
  }

  resize(maxHosts: number): void {
    this.#maxHosts = maxHosts;
    for (const host of this.#idle.items()) {
      if (this.#hosts.size <= maxHosts) break;
      host.retire('there are fewer slots');
      this.#end(host);
    }
    this.#next();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const run of this.#queue.keys()) {
      this.#queue.delete(run);
      run.giveUp(CLOSED);
    }
    for (const host of this.#hosts) host.retire('the worker ends');
    const ending = [...this.#idle.items(), ...this.#warming, ...this.#worn];
    for (const host of ending) this.#end(host);
    await Promise.all([this.#starts.close(), ...ending.map((host) => host.process.gone)]);
    this.#tidy();
  }

  #place(run: JobRun): void {
    if (!this.#placed(run)) this.#queue.set(run, true);
  }

  /** False: it has to wait for a host, or for its turn to start one. */
  #placed(run: JobRun): boolean {
    const { code, file } = run.job;
    if (this.#closed || file === undefined) {
      this.#queue.delete(run);
      run.giveUp(this.#closed ? CLOSED : NO_FILE);
      return true;
    }
    const shortMs = mayBeginUnmarked(run.job) ? this.#timesOf(run.job).shortMs : undefined;
    if (shortMs !== undefined && this.#placedBehind(run, file, shortMs)) return true;
    const warm = this.#warmFor(run.job);
    if (warm === undefined) {
      if (this.#starts.busy) return false;
      if (this.#hosts.size >= this.#maxHosts) {
        const [oldest] = this.#idle.items();
        if (oldest === undefined) return false;
        oldest.retire('another handler needs its place');
        this.#end(oldest);
      }
    } else this.#idle.delete(warm);
    this.#queue.delete(run);
    if (warm !== undefined && shortMs !== undefined && warm.calls > 0 && warm.process.records) {
      warm.short ??= new HostJobs(warm, this.#context);
      this.#short.set(warm, warm.short);
      run.giveTo(warm, warm.short);
    } else void run.runOn(warm ?? this.#newHost(file, code));
    return true;
  }

  /** In a host that has others of its kind. */
  #placedBehind(run: JobRun, file: string, shortMs: number): boolean {
    for (const [host, jobs] of this.#short) {
      if (host.file !== file || host.code?.id !== run.job.code?.id) continue;
      if (host.calls >= this.#wear.callsPerHost || this.#replaced(host)) continue;
      if (host.unfit(run.job) !== undefined || !jobs.takes(shortMs)) continue;
      this.#queue.delete(run);
      run.giveTo(host, jobs);
      return true;
    }
    return false;
  }

  #timesOf({ file = '', code }: Job): JobTimes {
    const known = this.#times.get(file);
    if (known !== undefined && known.code === code?.id) return known.times;
    const times = this.#options.callTimes?.() ?? new CallTimes();
    this.#times.set(file, { code: code?.id, times });
    return times;
  }

  /** The one that rests for the shortest time: what it has in the caches of the processor is still there. */
  #warmFor(job: Job): Host | undefined {
    const { file, code } = job;
    let found: Host | undefined;
    for (const host of this.#idle.items()) {
      if (host.file !== file || host.code?.id !== code?.id) continue;
      // Of a file that said something else then: what it says now, a fresh one tells.
      if (host.unfit(job) === undefined) found = host;
    }
    return found;
  }

  #newHost(file: string, code: HandlerCode | undefined): Host {
    const { clock, log } = this.#options;
    const host = new Host(file, code, {
      start: this.#starts.take(),
      clock,
      log,
      newProcesses: this.#newProcesses,
      startMs: this.#options.startMs ?? hostDefaults.startMs,
      tainted: (broken) => this.#end(broken),
    });
    void host.ready.then(() => this.#starts.over(host.process));
    this.#hosts.add(host);
    void host.process.gone.then((gone) => {
      this.#forget(host);
      const why = host.retired ?? 'it ended by itself while idle';
      log.debug('host.gone', `A handler host is gone: ${why}.`, {
        pid: host.process.pid,
        file,
        calls: host.calls,
        ...gone,
      });
    });
    return host;
  }

  /** A host whose job is over, or whose module is loaded: the next job, or rest. */
  #released(host: Host): void {
    this.#short.delete(host);
    if (host.process.over) this.#forget(host);
    else if (host.retired !== undefined) this.#end(host);
    else if (this.#replaced(host) || this.#hosts.size > this.#maxHosts) {
      host.retire(this.#replaced(host) ? REPLACED : 'there are fewer slots');
      this.#end(host);
    } else {
      const worn = host.calls > 0 ? host.worn(this.#wear) : undefined;
      if (worn === undefined) {
        host.rest();
        this.#idle.add(host);
      } else {
        host.retire(worn);
        this.#end(host);
        this.#worn.add(host);
        void host.process.gone.then(() => this.#worn.delete(host));
        // Whoever waits starts one himself; else the next call finds one as it would have found this.
        if (this.#queue.size === 0) void this.#warm(host.file, host.code);
      }
    }
    if (this.#queue.size > 0) this.#next();
  }

  /** Places whoever waits for a host. */
  #next(): void {
    for (const run of this.#queue.keys()) {
      if (this.#hosts.size >= this.#maxHosts && this.#idle.size === 0) return;
      this.#placed(run);
    }
  }

  #replaced({ code }: Host): boolean {
    return code !== undefined && this.#codes !== undefined && !this.#codes.has(code.id);
  }

  /** Kills a host that runs nothing. Its place is free at once. */
  #end(host: Host): void {
    host.process.kill();
    this.#idle.delete(host);
    this.#short.delete(host);
    this.#hosts.delete(host);
  }

  #forget(host: Host): void {
    this.#idle.delete(host);
    this.#short.delete(host);
    this.#hosts.delete(host);
    this.#tidy();
    this.#next();
  }

  #tidy(): void {
    if (!this.#closed || this.#hosts.size > 0) return;
    this.#newProcesses.close();
    this.#idle.close();
    this.#context.taking.close();
    this.#context.slow.close();
    this.#context.held.close();
  }
}

type JobTimes = ReturnType<JobRunContext['times']>;

const REPLACED = 'its code was replaced';
export const CLOSED = {
  code: 'HOST_NOT_STARTED',
  message: 'The worker ends: no handler is started any more.',
  retryable: true,
};
export const NO_FILE = {
  code: 'HANDLER_NOT_LOADED',
  message: 'The job names no handler file, which the carrier of processes needs.',
  retryable: true,
};
