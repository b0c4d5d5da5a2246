/** Evidence that a host ended for want of memory. A plain SIGKILL alone is none. */
import { readFileSync } from 'node:fs';
import { hostDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';

/** V8 (and C++ code) that gets no memory says so and aborts. */
export function saysOutOfMemory(stderr: string, exitCode?: number, signal?: string): boolean {
  const aborted =
    exitCode === 134 ||
    ['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGSEGV', 'SIGBUS'].includes(signal ?? '') ||
    (process.platform === 'win32' && exitCode !== 0);
  return aborted && /out of memory|bad_alloc|Allocation failed/i.test(stderr);
}

/** A counter of processes that the kernel has killed for want of memory; `undefined` where there is none. */
export type KillCounter = () => number | undefined;

/**
 * Watches that counter. It counts other processes of the same group (cgroup) too, so a rise is evidence only
 * near the death: whoever asks must have called `refresh` before.
 */
export class KernelKills {
  readonly #read: KillCounter;
  readonly #clock: Clock;
  #last: number | undefined;
  #roseAt = Number.NEGATIVE_INFINITY;
  #readAt: number;

  constructor(clock: Clock, read: KillCounter = kernelCounter()) {
    this.#clock = clock;
    this.#read = read;
    this.#last = read();
    this.#readAt = clock.now();
  }

  /** Called at the begin of each job: it is read again when the last time is a while ago. */
  refresh(): void {
    if (this.#clock.now() - this.#readAt >= hostDefaults.outOfMemoryReadMs) this.#look();
  }

  #look(): void {
    const now = this.#read();
    this.#readAt = this.#clock.now();
    if (now !== undefined && this.#last !== undefined && now > this.#last) {
      this.#roseAt = this.#readAt;
    }
    this.#last = now;
  }

  /** Whether the kernel killed something of ours just now. */
  justRose(): boolean {
    this.#look();
    return this.#clock.now() - this.#roseAt <= hostDefaults.outOfMemoryWindowMs;
  }
}

/** The counter of this process's own memory group (version 2 or 1), else that of the whole machine. */
export function kernelCounter(read = readText): KillCounter {
  const sources = [...groupFiles(read('/proc/self/cgroup') ?? ''), '/proc/vmstat'];
  const source = sources.find((file) => countIn(read(file)) !== undefined);
  return () => (source === undefined ? undefined : countIn(read(source)));
}

function groupFiles(cgroups: string): string[] {
  return cgroups.split('\n').flatMap((line) => {
    const [, controllers, path] = line.match(/^\d+:([^:]*):(\/.*)$/) ?? [];
    if (path === undefined) return [];
    // In a container the path may be the host's: then the root of what is mounted is our group.
    if (controllers === '') {
      return [`/sys/fs/cgroup${path}/memory.events`, '/sys/fs/cgroup/memory.events'];
    }
    if (!controllers?.split(',').includes('memory')) return [];
    const root = '/sys/fs/cgroup/memory';
    return [`${root}${path}/memory.oom_control`, `${root}/memory.oom_control`];
  });
}

function countIn(text: string | undefined): number | undefined {
  const count = text?.match(/^oom_kill (\d+)$/m)?.[1];
  return count === undefined ? undefined : Number(count);
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
