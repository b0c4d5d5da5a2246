import { openClient } from '../src/client/open-client.ts';
import { Producer } from '../src/client/task-producer.ts';
import type { TaskError } from '../src/contract/index.ts';
import { SimulatedClock } from './clock.ts';
import type { ControlPlaneNode } from './control-plane-node.ts';
import type { Faults } from './faults.ts';
import type { History } from './history.ts';
import type { SimInput } from './host-script.ts';
import { Life } from './life.ts';
import { Line } from './line.ts';
import type { SimulatedRandom } from './random.ts';
import type { SimulatedTime } from './time.ts';

export interface PlannedTask {
  readonly atMs: number;
  readonly type: string;
  readonly input: SimInput;
  readonly policy: Record<string, unknown>;
}

/** What an application of a world has around it. */
export interface AppParts {
  readonly time: SimulatedTime;
  readonly faults: Faults;
  readonly history: History;
  readonly random: SimulatedRandom;
  readonly plane: ControlPlaneNode;
}

/** An application that submits, by the real client over a line of its own, and now and then cancels. */
export class SimulatedProducer {
  readonly line: Line;
  readonly #o: AppParts;
  readonly #producer: Producer;
  #under = 0;

  constructor(options: AppParts, key: string) {
    this.#o = options;
    const { time, random } = options;
    const life = new Life(new SimulatedClock({ time }));
    this.line = new Line({ ...options, latencyMs: 10 });
    const { client } = openClient(
      {
        serviceUrl: 'http://127.0.0.1:7420',
        key,
        timeoutMs: 600_000,
        fetch: this.line.fetch({ name: 'producer', life }),
      },
      { clock: life.clock, random: random.fork('client') },
    );
    this.#producer = new Producer(client);
  }

  /** Submissions and cancels that have not been answered. */
  get busy(): string | undefined {
    return this.#under > 0 ? `${this.#under} calls of the producer are under way` : undefined;
  }

  plan(task: PlannedTask, n: number): void {
    const { time } = this.#o;
    time.at(task.atMs, () => void this.#submit(task, `key-${n}`));
  }

  async #submit(task: PlannedTask, idempotencyKey: string): Promise<void> {
    const { time, history, faults } = this.#o;
    history.offered.push(idempotencyKey);
    await this.#during(async () => {
      const { id } = await this.#producer.submit(task.type, 1, task.input, {
        idempotencyKey,
        policy: task.policy,
      });
      history.submitted.push({ taskId: id, key: idempotencyKey, at: time.nowMs });
      history.tell(time.nowMs, `submitted ${task.type} ${id.slice(-6)}`);
      if (faults.strikes('cancels'))
        time.at(time.nowMs + faults.between('cancels', 0, 40_000), () => void this.#cancel(id));
    });
  }

  #cancel(id: string): Promise<void> {
    const { time, history } = this.#o;
    history.tell(time.nowMs, `cancel ${id.slice(-6)}`);
    return this.#during(() => this.#producer.cancel(id));
  }

  async #during(work: () => Promise<unknown>): Promise<void> {
    this.#under++;
    try {
      await work();
    } catch (error) {
      this.#o.history.tell(this.#o.time.nowMs, `producer: ${(error as TaskError).code}`);
    } finally {
      this.#under--;
    }
  }
}
