/**
 * Starts the processes of hosts. As many at the same time as there are cores, because a start is nothing but work for a
 * core: sixteen at once on two cores are all late, and two after two serve the first tasks meanwhile. And one ahead of
 * any demand (`prepare`): a program that is up, and loads a handler when the first task says which.
 */
import { availableParallelism } from 'node:os';
import { hostDefaults } from '../core/defaults.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { HostProcess } from './host-process.ts';
import { openRecorder } from './host-recorder.ts';
import type { Mark, NewProcesses } from './new-processes.ts';
import { SameWait } from './same-wait.ts';
import type { SpawnOptions } from './spawn-host.ts';

/** A process that was started, and the moment before. */
export interface HostStart {
  readonly process: HostProcess;
  readonly mark: Mark;
}

export function startHost(
  options: SpawnOptions,
  { clock, log, newProcesses }: Pick<HostStartsContext, 'clock' | 'log' | 'newProcesses'>,
): HostStart {
  const mark = newProcesses.mark();
  const recorder = options.role === 'host' ? openRecorder(options.id) : undefined;
  const process = new HostProcess({ ...options, recorder: recorder?.fd }, clock, log, recorder);
  void process.started.then((pid) => pid && newProcesses.verify(mark, pid));
  return { process, mark };
}

export interface HostStartsContext {
  readonly spawn: Omit<SpawnOptions, 'id'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly newProcesses: NewProcesses;
  /** A spare one that nobody has needed for so long is ended. */
  readonly idleMs: number;
  /** Another may be started. */
  room(): void;
}

export class HostStarts {
  readonly #ctx: HostStartsContext;
  readonly #starting: SameWait<HostProcess>;
  readonly #atOnce = Math.max(hostDefaults.startsAtOnce, availableParallelism());
  #spare: HostStart | undefined;
  #spareTime: Timer | undefined;
  #count = 0;

  constructor(context: HostStartsContext) {
    this.#ctx = context;
    // One that waits for something else than a core while it loads is in nobody's way.
    this.#starting = new SameWait(context.clock, hostDefaults.startGapMs, () => context.room());
  }

  /** The next start had better wait for `room`. */
  get busy(): boolean {
    return this.#starting.size >= this.#atOnce && !this.#ready();
  }

  /** Starts one that no task has asked for yet. Twice is once. */
  prepare(): void {
    if (this.#ready()) return;
    this.#spare = this.#start();
    this.#spareTime = this.#ctx.clock.timer(this.#ctx.idleMs, () => this.#drop(), 'patient');
  }

  take(): HostStart {
    const start = this.#ready() ? (this.#spare as HostStart) : this.#start();
    if (start === this.#spare) {
      this.#spareTime?.cancel();
      this.#spare = undefined;
    }
    return start;
  }

  /** It serves, or it never will. */
  over(process: HostProcess): void {
    if (this.#starting.delete(process)) this.#ctx.room();
  }

  /** Resolves when nothing runs that was not taken. */
  async close(): Promise<void> {
    const { process } = this.#spare ?? {};
    this.#drop();
    await process?.gone;
    this.#starting.close();
  }

  #start(): HostStart {
    const { spawn } = this.#ctx;
    // The session is fresh for each process of ours, so no other host ever has this.
    const id = `${spawn.marker}/${++this.#count}`;
    const start = startHost({ ...spawn, id }, this.#ctx);
    this.#starting.add(start.process);
    return start;
  }

  #ready(): boolean {
    return this.#spare !== undefined && !this.#spare.process.over;
  }

  #drop(): void {
    this.#spareTime?.cancel();
    this.#spare?.process.kill();
    this.#spare = undefined;
  }
}
