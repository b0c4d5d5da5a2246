import type { ProcessInfo, ProcessSight } from '../src/ports/process-info.ts';

/** A machine with processes: pids are given in order, or used again on purpose. */
export class SimulatedHost {
  readonly hostName: string;
  bootId = 'boot-1';
  bootedAtMs = 0;
  readonly #running = new Map<number, string>();
  #starts = 0;
  #lastPid = 100;

  constructor(hostName = 'sim') {
    this.hostName = hostName;
  }

  /** Starts a process, under a pid of one's choice if need be. */
  start(pid = ++this.#lastPid): ProcessInfo {
    const startTime = `start-${++this.#starts}`;
    this.#running.set(pid, startTime);
    return {
      self: {
        hostName: this.hostName,
        pid,
        startTime,
        bootId: this.bootId,
        pidNamespace: 'pid:[1]',
        bootedAtMs: this.bootedAtMs,
      },
      look: async (other) => this.#look(other),
    };
  }

  kill(pid: number): void {
    this.#running.delete(pid);
  }

  /** All processes end and a new boot begins. */
  reboot(atMs: number): void {
    this.#running.clear();
    this.bootId = `boot-${Number(this.bootId.slice(5)) + 1}`;
    this.bootedAtMs = atMs;
  }

  #look(pid: number): ProcessSight {
    const startTime = this.#running.get(pid);
    return startTime === undefined ? { alive: false } : { alive: true, startTime };
  }
}
