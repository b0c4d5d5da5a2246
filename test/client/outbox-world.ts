/** Producers with an outbox on a simulated disk, at a control plane without sockets; the clock is the test's. */
import { SimulatedDisk } from '../../sim/disk.ts';
import { type SimulatedFolderLock, SimulatedLocks } from '../../sim/folder-lock.ts';
import { CollectingLog } from '../../sim/log.ts';
import { SimulatedHost } from '../../sim/process-info.ts';
import type { SimulatedRandom } from '../../sim/random.ts';
import type { OpenClient } from '../../src/client/open-client.ts';
import { Outbox, type OutboxOptions, type StoredTask } from '../../src/client/outbox/outbox.ts';
import { Producer } from '../../src/client/task-producer.ts';
import type { TaskView } from '../../src/contract/index.ts';
import type { Disk } from '../../src/ports/disk.ts';
import { People } from './people.ts';

export const FOLDER = '/state/outbox';

export interface SimulatedProducer {
  readonly producer: Producer<StoredTask>;
  readonly outbox: Outbox;
  readonly log: CollectingLog;
  /** kill -9. */
  kill(): void;
}

export class OutboxWorld {
  readonly people: People;
  readonly disk: SimulatedDisk;
  readonly host = new SimulatedHost();
  readonly #locks: SimulatedLocks;
  readonly #running = new Set<SimulatedProducer>();
  #processes = 0;

  private constructor(people: People) {
    this.people = people;
    this.disk = new SimulatedDisk(people.world.clock);
    this.#locks = new SimulatedLocks(people.world.clock);
  }

  static async start(): Promise<OutboxWorld> {
    return new OutboxWorld(await People.start());
  }

  /** A process with a producer. */
  async producer(
    more: Partial<OutboxOptions> & {
      timeoutMs?: number;
      open?: OpenClient;
      host?: SimulatedHost;
    } = {},
  ): Promise<SimulatedProducer> {
    const { clock } = this.people.world;
    const { timeoutMs, open, project, host = this.host, ...options } = more;
    const given = {
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(project !== undefined && { project }),
    };
    const { client, again } = open ?? (await this.people.client('task-producer', given));
    const disk: Disk = this.disk.mount();
    const lock: SimulatedFolderLock = this.#locks.mount();
    const info = host.start();
    const log = new CollectingLog(() => clock.now());
    const random = this.people.world.random.fork(`producer ${++this.#processes}`);
    // A process that was killed sends and hears nothing more.
    let alive = true;
    const ports = { disk, clock, random, log, lock, processInfo: async () => info };
    const outbox = new Outbox(ports, client, { folder: FOLDER, project, ...options });
    const producer = new Producer<StoredTask>(
      again(() => alive && outbox.answered()),
      outbox,
    );
    const process: SimulatedProducer = {
      producer,
      outbox,
      log,
      kill: () => {
        alive = false;
        this.#running.delete(process);
        this.disk.kill(disk);
        lock.fallSilent();
        host.kill(info.self.pid);
      },
    };
    this.#running.add(process);
    return process;
  }

  /** All processes end, and what was not synced is lost, or with a generator perhaps. */
  powerCut(random?: SimulatedRandom): void {
    for (const process of this.#running) process.kill();
    this.disk.powerCut(random);
    this.host.reboot(this.people.world.clock.wall());
  }

  settled<T>(work: Promise<T>): Promise<T> {
    return this.people.settled(work);
  }

  advance(ms: number): Promise<void> {
    return this.people.world.clock.time.advance(ms);
  }

  /** The inputs of all tasks, sorted: those of one millisecond have no order. */
  async inputs(): Promise<unknown[]> {
    const reader = await this.people.producer();
    const tasks: TaskView[] = [];
    const before = this.people.mishap;
    this.people.mishap = () => undefined;
    const all = (async () => {
      for await (const task of reader.list({ include: ['input'] })) tasks.push(task);
    })();
    await this.settled(all);
    this.people.mishap = before;
    return tasks
      .map(({ input }) => input)
      .sort((a, b) => String(a).localeCompare(String(b), 'en', { numeric: true }));
  }

  /** The inputs in batches, as they were sent. */
  sentInputs(): unknown[] {
    const bodies = this.people.bodies('/tasks/batch') as { input: unknown }[][];
    return bodies.flatMap((batch) => batch.map(({ input }) => input));
  }

  /** Files below a folder of the outbox, without unfinished ones. */
  files(folder: 'intents' | 'refused' | 'corrupt'): string[] {
    const at = `${FOLDER}/${folder}/`;
    return Object.keys(this.disk.platter.tree()).filter(
      (path) => path.startsWith(at) && path.endsWith('.jsonl'),
    );
  }
}
