import type { Disk } from '../src/ports/disk.ts';
import type { FolderLock } from '../src/ports/folder-lock.ts';
import type { ProcessInfo } from '../src/ports/process-info.ts';
import { SimulatedClock, type SimulatedClockOptions } from './clock.ts';
import { SimulatedDisk } from './disk.ts';
import { SimulatedLocks } from './folder-lock.ts';
import { CollectingLog } from './log.ts';
import { SimulatedHost } from './process-info.ts';
import { SimulatedRandom } from './random.ts';

/** One simulated computer: a clock, a disk, and processes that come and go. */
export class SimulatedMachine {
  readonly clock: SimulatedClock;
  readonly disk: SimulatedDisk;
  readonly random: SimulatedRandom;
  readonly host: SimulatedHost;
  readonly #locks: SimulatedLocks;
  readonly #running = new Set<SimulatedProcess>();

  constructor(
    options: SimulatedClockOptions & { hostName?: string; random?: SimulatedRandom } = {},
  ) {
    this.clock = new SimulatedClock(options);
    this.disk = new SimulatedDisk(this.clock);
    this.random = options.random ?? new SimulatedRandom(1);
    this.host = new SimulatedHost(options.hostName);
    this.#locks = new SimulatedLocks(this.clock);
  }

  /** Starts a process, under a pid of one's choice if need be. */
  start(pid?: number): SimulatedProcess {
    const disk = this.disk.mount();
    const lock = this.#locks.mount();
    const processInfo = this.host.start(pid);
    const process: SimulatedProcess = {
      clock: this.clock,
      disk,
      lock,
      log: new CollectingLog(() => this.clock.now()),
      processInfo,
      random: this.random.fork(`process ${processInfo.self.pid}`),
      kill: () => {
        if (!this.#running.delete(process)) return;
        this.disk.kill(disk);
        lock.fallSilent();
        this.host.kill(processInfo.self.pid);
      },
    };
    this.#running.add(process);
    return process;
  }

  /** All processes end, the disk forgets (with a generator: perhaps), and the machine boots again. */
  powerCut(random?: SimulatedRandom): void {
    for (const process of this.#running) process.kill();
    this.disk.powerCut(random);
    this.host.reboot(this.clock.wall());
  }
}

/** The ports of one process. */
export interface SimulatedProcess {
  readonly clock: SimulatedClock;
  readonly disk: Disk;
  readonly lock: FolderLock;
  readonly log: CollectingLog;
  readonly processInfo: ProcessInfo;
  readonly random: SimulatedRandom;
  /** kill -9. Twice is fine. */
  kill(): void;
}
