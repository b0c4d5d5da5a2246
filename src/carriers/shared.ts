/**
 * A carrier of the daemon for handlers that share: all jobs of one file and code run in one child process, as
 * asynchronous calls. For many short tasks and those that mostly wait. How many at once is up to who starts them: the
 * slots of the worker. Woken by `start`, by hosts that go and by the time of idle ones; ends with `close`.
 *
 * A host ends whole: whoever has to be killed takes the others with it. They end as `died`, with the reason; see
 * `Suspects` for what keeps a task from doing that again and again.
 */
import { hostDefaults } from '../core/defaults.ts';
import { CallTimes } from '../core/jobs-ahead.ts';
import type { HandlerCode, Job, JobListener, RunningJob } from '../ports/carrier.ts';
import type { Host } from './host.ts';
import { notTakenByAny, tellNotTaken } from './host-ends.ts';
import type { HostGone } from './host-process.ts';
import { startHost } from './host-starts.ts';
import { NewProcesses } from './new-processes.ts';
import { KernelKills } from './out-of-memory.ts';
import { CLOSED, NO_FILE } from './process.ts';
import type { ProcessCarrier, ProcessCarrierOptions } from './process-carrier.ts';
import { SharedHost, type SharedHostContext } from './shared-host.ts';
import { SharedRun } from './shared-run.ts';
import type { Suspects } from './suspects.ts';

export interface SharedCarrierOptions extends ProcessCarrierOptions {
  /** Told of tasks that may have ended their host. */
  readonly suspects: Pick<Suspects, 'add'>;
  /** Default: `hostDefaults.sharedPingMs`. */
  readonly pingMs?: number;
  /** Default: `hostDefaults.sharedHeldMs`. */
  readonly heldMs?: number;
}

/** `prepare` and `warm` do nothing: the first task of a type starts its host for all. */
export function createSharedCarrier(options: SharedCarrierOptions): ProcessCarrier {
  return new SharedPool(options);
}

class SharedPool implements ProcessCarrier {
  readonly #options: SharedCarrierOptions;
  /** All that run something, or may. */
  readonly #hosts = new Set<SharedHost>();
  /** Killed and not gone yet. */
  readonly #ending = new Set<Promise<unknown>>();
  /** By file and code: the one that takes what comes. */
  readonly #current = new Map<string, SharedHost>();
  readonly #newProcesses: NewProcesses;
  readonly #context: Omit<SharedHostContext, 'start'>;
  #started = 0;
  #closed = false;
  #maxHosts: number;
  #codes: ReadonlySet<string> | undefined;

  constructor(options: SharedCarrierOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#maxHosts = options.maxHosts;
    this.#newProcesses = new NewProcesses(clock);
    this.#context = {
      clock,
      log,
      newProcesses: this.#newProcesses,
      kernelKills: new KernelKills(clock),
      callTimes: options.callTimes ?? (() => new CallTimes()),
      startMs: options.startMs ?? hostDefaults.startMs,
      pingMs: options.pingMs ?? hostDefaults.sharedPingMs,
      heldMs: options.heldMs ?? hostDefaults.sharedHeldMs,
      idleMs: options.idleMs ?? hostDefaults.idleMs,
      callsMax: options.callsPerHost ?? hostDefaults.sharedCallsPerHost,
      spoils: options.spoils ?? (() => false),
      suspect: (runs) => {
        for (const { job } of runs) options.suspects.add(job.taskId);
      },
      again: (run, host, gone) => this.#again(run, host, gone),
      idle: (host) => this.#idle(host),
      rested: (host) => {
        host.retire('it was idle');
        this.#end(host);
      },
    };
  }

  start(job: Job, listener: JobListener): RunningJob {
    const run = new SharedRun(job, listener, this.#context);
    // Later in this turn: the caller has the job in hand before its listener is called.
    queueMicrotask(() => {
      if (run.phase === 'waiting') this.#place(run);
    });
    return run;
  }

  prepare(): void {}

  async warm(): Promise<void> {}

  keepOnly(codes: ReadonlySet<string>): void {
    this.#codes = codes;
    for (const host of this.#hosts) if (host.jobs === 0) this.#idle(host);
  }

  resize(maxHosts: number): void {
    this.#maxHosts = maxHosts;
    this.#makeRoom(maxHosts);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const hosts = [...this.#hosts];
    for (const host of hosts) host.retire('the worker ends');
    for (const host of hosts) if (host.jobs === 0) this.#end(host);
    await Promise.all(this.#ending);
    this.#tidy();
  }

  #place(run: SharedRun): void {
    const { code, file } = run.job;
    if (this.#closed || file === undefined) {
      run.giveUp(this.#closed ? CLOSED : NO_FILE);
      return;
    }
    const key = keyOf(file, code);
    let host = this.#current.get(key);
    if (host !== undefined && !host.fits(run.job)) {
      // Of a file that said something else then: what it says now, a fresh one tells.
      host.retire('its file has changed');
      this.#idle(host);
    }
    if (host === undefined || !host.open) {
      this.#makeRoom(this.#maxHosts - 1);
      host = this.#newHost(file, code);
      this.#current.set(key, host);
    } else if (host.calls >= host.callsMax) this.#succeed(host, key);
    host.take(run);
  }

  /** What a handler leaks does not grow for ever: the next host is made ready while this one goes on. */
  #succeed(old: SharedHost, key: string): void {
    // One at a time: each that starts makes the one before it later, while calls go on.
    old.callsMax = Number.POSITIVE_INFINITY;
    const next = this.#newHost(old.file, old.code);
    void next.ready.then((failure) => {
      if (failure !== undefined || !next.open || this.#current.get(key) !== old) {
        old.callsMax = old.calls + this.#context.callsMax;
        next.retire('it is not needed');
        this.#idle(next);
        return;
      }
      this.#current.set(key, next);
      old.retire('it has had its number of calls');
      this.#idle(old);
    });
  }

  /** Never more idle ones than there is room for: of each job here at least one host is not idle. */
  #makeRoom(max: number): void {
    for (const host of this.#hosts) {
      if (this.#hosts.size <= max) return;
      if (host.jobs > 0) continue;
      host.retire('another handler needs its place');
      this.#end(host);
    }
  }

  #newHost(file: string, code: HandlerCode | undefined): SharedHost {
    const { hostCommand, env, marker, cwd, compileCache, log } = this.#options;
    // The session is fresh for each process of ours, and own hosts have numbers alone.
    const id = `${marker}/s${++this.#started}`;
    const host = new SharedHost(file, code, {
      ...this.#context,
      start: startHost(
        { command: hostCommand, role: 'shared', env, marker, id, cwd, compileCache },
        this.#context,
      ),
    });
    this.#hosts.add(host);
    void host.process.gone.then((gone) => {
      this.#forget(host);
      log.debug('host.gone', `A shared handler host is gone: ${host.retired ?? 'it ended'}.`, {
        ...{ pid: host.process.pid, file, calls: host.calls, ...gone },
      });
    });
    return host;
  }

  #again(run: SharedRun, host: Host, gone: HostGone | undefined): void {
    run.at(undefined);
    if (gone !== undefined) tellNotTaken(this.#options.log, host, gone);
    if (gone === undefined || run.given < hostDefaults.takeHosts) {
      this.#place(run);
      return;
    }
    // Alone it is seen whether that is its own fault.
    this.#options.suspects.add(run.job.taskId);
    run.giveUp(notTakenByAny(run.given, host, gone));
  }

  /** A host without a job: rests, or goes. */
  #idle(host: SharedHost): void {
    if (host.jobs > 0) return;
    const replaced = host.code !== undefined && this.#codes?.has(host.code.id) === false;
    if (replaced) host.retire('its code was replaced');
    if (!host.open || this.#closed) this.#end(host);
  }

  /** Kills a host that runs nothing. Its place is free at once. */
  #end(host: SharedHost): void {
    host.process.kill();
    const { gone } = host.process;
    this.#ending.add(gone);
    void gone.then(() => this.#ending.delete(gone));
    this.#forget(host);
  }

  #forget(host: SharedHost): void {
    this.#hosts.delete(host);
    const key = keyOf(host.file, host.code);
    if (this.#current.get(key) === host) this.#current.delete(key);
    this.#tidy();
  }

  #tidy(): void {
    if (this.#closed && this.#hosts.size === 0) this.#newProcesses.close();
  }
}

function keyOf(file: string, code: HandlerCode | undefined): string {
  return code === undefined ? file : `${code.id} ${file}`;
}
