import type { Clock, Timer } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { drained } from './call-ends.ts';
import type { KernelKills } from './out-of-memory.ts';
import { namesOf } from './shared-ends.ts';
import type { SharedHost } from './shared-host.ts';
import type { SharedRun } from './shared-run.ts';

/** What it looks at, and does. */
export interface Watched {
  readonly host: SharedHost;
  runs(): readonly SharedRun[];
  /** Sends a question that it answers as soon as its handlers let it. */
  ask(): void;
}

interface WatchContext {
  readonly clock: Clock;
  readonly log: Log;
  readonly kernelKills: KernelKills;
  readonly pingMs: number;
  readonly heldMs: number;
}

/**
 * Watches a shared host as a whole, and not its jobs: while there are some, it is asked every `pingMs` whether its
 * handlers let it answer. Where they do not, the others in it wait: that is told, what comes goes to another host, and
 * after `heldMs` it is ended. Counts its looks, not the time: a machine that has slept has been silent too.
 */
export class SharedWatch {
  readonly #ctx: WatchContext;
  readonly #watched: Watched;
  #timer: Timer | undefined;
  /** Looks since it was asked; `undefined`: it has answered. */
  #silent: number | undefined;
  #told = false;

  constructor(ctx: WatchContext, watched: Watched) {
    this.#ctx = ctx;
    this.#watched = watched;
  }

  get answered(): boolean {
    return this.#silent === undefined;
  }

  /** It was told that a handler holds it up, and has not answered since. */
  get heldUp(): boolean {
    return this.#told;
  }

  /** There are jobs. */
  begin(): void {
    this.#timer ??= this.#ctx.clock.timer(this.#ctx.pingMs, () => void this.#look());
  }

  end(): void {
    this.#timer?.cancel();
  }

  /** Between two looks: the next one comes too soon to count. */
  ask(): void {
    if (this.#silent !== undefined) return;
    this.#silent = -1;
    this.#watched.ask();
  }

  heard(): void {
    this.#silent = undefined;
    if (!this.#told) return;
    this.#told = false;
    const { pid } = this.#watched.host.process;
    const text = `The shared host ${pid} of ${this.#watched.host.file} answers again.`;
    this.#ctx.log.info('host.answers', text, { pid });
  }

  async #look(): Promise<void> {
    this.#ctx.kernelKills.refresh();
    // It may have said so while we did not look (this process was stopped, or busy).
    if (this.#silent !== undefined) await drained();
    this.#timer = undefined;
    const runs = this.#watched.runs();
    if (runs.length === 0 || this.#watched.host.process.over) return;
    this.begin();
    if (this.#silent === undefined) {
      this.#silent = 0;
      this.#watched.ask();
      return;
    }
    this.#silent++;
    // One that is alone in it holds up nobody.
    if (this.#silent > 0 && runs.length > 1) this.#heldUp(runs, this.#silent * this.#ctx.pingMs);
  }

  #heldUp(runs: readonly SharedRun[], forMs: number): void {
    const { host } = this.#watched;
    const { pid } = host.process;
    const seconds = Math.round(forMs / 1_000);
    if (!this.#told) {
      this.#told = true;
      host.retire('its handlers did not let it answer');
      this.#ctx.log.warn(
        'host.held-up',
        `The shared host ${pid} of ${host.file} has not answered for ${seconds} s: a handler keeps it busy without giving way (a loop, a large computation), and all tasks in it wait: ${namesOf(runs)}. They keep their slots${this.#untilEnded(forMs)}; new ones that get a slot get another host. Take out host: 'shared', or move that work into a thread.`,
        { pid, file: host.file, tasks: runs.map(({ job }) => job.taskId) },
      );
    }
    if (forMs >= this.#ctx.heldMs)
      host.endHeld(`held its thread for ${seconds} s without giving way`);
  }

  #untilEnded(forMs: number): string {
    const left = Math.round((this.#ctx.heldMs - forMs) / 1_000);
    return left > 0 ? ` until it answers, or is ended in ${left} s` : '';
  }
}
