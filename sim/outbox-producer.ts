import { openClient } from '../src/client/open-client.ts';
import { Outbox, type StoredTask } from '../src/client/outbox/outbox.ts';
import { Producer } from '../src/client/task-producer.ts';
import type { TaskError } from '../src/contract/index.ts';
import { Life } from './life.ts';
import { Line } from './line.ts';
import { SimulatedMachine } from './machine.ts';
import type { AppParts, PlannedTask } from './producer.ts';
import { SimLog } from './sim-log.ts';

const FOLDER = '/outbox';

interface Running {
  readonly life: Life;
  readonly producer: Producer<StoredTask>;
  readonly outbox: Outbox;
}

/**
 * An application that submits through an outbox on its own machine: it is killed, its power goes, its disk is full, and
 * what it was told is stored has to become one task all the same.
 */
export class OutboxProducer {
  readonly machine: SimulatedMachine;
  readonly line: Line;
  readonly log: SimLog;
  readonly #o: AppParts;
  readonly #key: string;
  #running: Running | undefined;
  #open = 0;
  #ended = false;

  constructor(options: AppParts, key: string) {
    this.#o = options;
    this.#key = key;
    const { time, random } = options;
    this.machine = new SimulatedMachine({
      time,
      hostName: 'app',
      random: random.fork('machine'),
    });
    this.machine.disk.traces = false;
    this.log = new SimLog('app', () => time.nowMs);
    this.line = new Line({ ...options, latencyMs: 20 });
  }

  /** Submissions that were not made yet, or lie in the outbox, in words. */
  get busy(): string | undefined {
    if (this.#open > 0) return `the application makes ${this.#open} submissions`;
    // What a crash left unfinished is swept later.
    const names = this.machine.disk.platter
      .names(`${FOLDER}/intents`)
      .filter((name) => name.endsWith('.jsonl'));
    return names.length === 0 ? undefined : `${names.join(', ')} lies in the outbox`;
  }

  plan(task: PlannedTask, n: number): void {
    this.#open++;
    this.#o.time.at(task.atMs, () => void this.#submit(task, `key-${n}`));
  }

  start(): void {
    if (this.#running || this.#ended) return;
    const { time, history } = this.#o;
    history.tell(time.nowMs, 'the application starts');
    const process = this.machine.start();
    const life = new Life(process.clock);
    life.onDeath(() => process.kill());
    const opened = openClient(
      {
        serviceUrl: 'http://127.0.0.1:7420',
        key: this.#key,
        fetch: this.line.fetch({ name: 'app', life, crash: () => this.kill() }),
      },
      { clock: life.clock, random: process.random.fork('client') },
    );
    const ports = {
      disk: process.disk,
      clock: life.clock,
      random: process.random,
      log: this.log,
      lock: process.lock,
      processInfo: async () => process.processInfo,
    };
    const outbox = new Outbox(ports, opened.client, {
      folder: FOLDER,
      onRefused: ({ idempotencyKey }, error) =>
        history.seen.push({
          checker: 'outbox-kept',
          at: time.nowMs,
          text: `${idempotencyKey} was refused: ${error.message}`,
        }),
    });
    const client = opened.again(() => outbox.answered());
    this.#running = { life, outbox, producer: new Producer<StoredTask>(client, outbox) };
    // What an earlier process left goes out by itself.
    outbox.start().catch(() => this.#later(1_000, () => void outbox.start().catch(() => {})));
  }

  /** kill -9, and another start. */
  kill(): void {
    const { time, history, faults } = this.#o;
    if (!this.#running) return;
    history.tell(time.nowMs, 'the application dies');
    this.#running.life.die();
    this.#running = undefined;
    this.#later(faults.between('killProducer', 200, 15_000), () => this.start());
  }

  powerCut(): void {
    this.machine.powerCut(this.#o.faults.of('powerCut'));
    this.kill();
  }

  /** It closes in order; nothing may be left. */
  async finish(): Promise<void> {
    this.#ended = true;
    await this.#running?.outbox.stop();
  }

  async #submit(task: PlannedTask, idempotencyKey: string): Promise<void> {
    const { time, history } = this.#o;
    const running = this.#running;
    if (!running) return this.#later(1_000, () => void this.#submit(task, idempotencyKey));
    history.offered.push(idempotencyKey);
    let settled = false;
    const settle = () => {
      if (!settled) this.#open--;
      settled = true;
    };
    // Nobody waits for it any more.
    running.life.onDeath(settle);
    try {
      const given = { idempotencyKey, policy: task.policy };
      const made = await running.producer.submit(task.type, 1, task.input, given);
      if (made.stored) {
        history.stored.push({ key: idempotencyKey, at: time.nowMs });
        history.tell(time.nowMs, `stored ${idempotencyKey}`);
      } else {
        history.submitted.push({ taskId: made.id, key: idempotencyKey, at: time.nowMs });
        history.tell(time.nowMs, `submitted ${idempotencyKey}`);
      }
    } catch (error) {
      history.tell(time.nowMs, `${idempotencyKey}: ${(error as TaskError).code}`);
    }
    settle();
  }

  #later(ms: number, act: () => void): void {
    this.#o.time.at(this.#o.time.nowMs + ms, act);
  }
}
