import type { ServedHandler } from '../src/worker/worker.ts';
import { checkers } from './checkers/index.ts';
import { ControlPlaneNode } from './control-plane-node.ts';
import { drawRates, type FaultName, type FaultRates, Faults } from './faults.ts';
import { History } from './history.ts';
import { SimulatedOperator } from './operator.ts';
import { OutboxProducer } from './outbox-producer.ts';
import { type PlannedTask, SimulatedProducer } from './producer.ts';
import { SimulatedRandom } from './random.ts';
import { SimLog } from './sim-log.ts';
import { SimulatedTime } from './time.ts';
import { LAST_CALLS_MS, WorkerNode } from './worker-node.ts';
import { worldNamed } from './worlds/index.ts';

/** What a world asks for. Drawn from the seed. */
export interface WorldPlan {
  readonly workers: readonly {
    readonly maxConcurrent: number;
    readonly latencyMs: number;
    readonly handlers: readonly ServedHandler[];
  }[];
  readonly tasks: readonly PlannedTask[];
  /** How long faults strike. */
  readonly durationMs: number;
  readonly drainTimeoutMs: number;
  readonly stopGraceMs: number;
  readonly operator?: boolean;
  /** The application submits through an outbox, and dies now and then. */
  readonly outbox?: boolean;
  /** The only faults of this world; default all. */
  readonly faults?: readonly FaultName[];
  /** Rates that are not left to chance. */
  readonly rates?: Partial<FaultRates>;
  /** When workers are drained by the plan. */
  readonly drains?: readonly { readonly worker: number; readonly atMs: number }[];
}

export interface World {
  readonly name: string;
  readonly about: string;
  plan(random: SimulatedRandom): WorldPlan;
}

export interface SimulationOptions {
  readonly seed: number;
  readonly world: string;
  readonly store?: 'memory' | 'sqlite';
  /** Faults end after so many steps. */
  readonly steps?: number;
  /** Instead of the drawn ones. */
  readonly rates?: Partial<FaultRates>;
  /** Tell no story [tell it]: a little faster. */
  readonly silent?: boolean;
  /** Only so many of the planned tasks. */
  readonly tasks?: number;
}

export interface Violation {
  readonly checker: string;
  readonly text: string;
}

export interface Outcome {
  readonly options: SimulationOptions;
  readonly violations: readonly Violation[];
  readonly rates: FaultRates;
  readonly struck: Readonly<Record<string, number>>;
  /** Steps with faults, and all. */
  readonly faultSteps: number;
  readonly steps: number;
  readonly simulatedMs: number;
  readonly tasks: number;
  readonly attempts: number;
  /** The same for two runs of a seed. */
  readonly digest: string;
  readonly story: readonly string[];
  readonly log: readonly string[];
}

/** What the checkers read. */
export interface Finished {
  readonly history: History;
  readonly plan: WorldPlan;
  readonly rates: FaultRates;
  readonly struck: ReadonlyMap<FaultName, number>;
  readonly tasks: readonly TaskAtEnd[];
  readonly nodes: readonly WorkerNode[];
  readonly logs: readonly SimLog[];
  /** Everything came to rest in time after the faults had ended. */
  readonly settled: boolean;
  readonly unsettled: string;
  readonly calmAt: number;
  readonly left: { readonly planeTimers: number; readonly streams: number };
}

export interface TaskAtEnd {
  // biome-ignore lint/suspicious/noExplicitAny: the view as it is served
  readonly view: any;
  readonly events: readonly JournalEvent[];
}

export interface JournalEvent {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly attemptId?: string;
  readonly fence?: number;
  readonly by: string;
  // biome-ignore lint/suspicious/noExplicitAny: data is of every shape
  readonly data: any;
}

/** Plays one world from one seed, with nothing real but the code under test. */
export async function simulate(options: SimulationOptions): Promise<Outcome> {
  return new Simulation(options).run();
}

class Simulation {
  readonly #options: SimulationOptions;
  readonly #time = new SimulatedTime();
  readonly #history = new History();
  readonly #random: SimulatedRandom;
  readonly #plan: WorldPlan;
  readonly #faults: Faults;
  readonly #plane: ControlPlaneNode;
  readonly #planeLog: SimLog;
  readonly #nodes: WorkerNode[] = [];
  #producer!: SimulatedProducer | OutboxProducer;
  #steps = 0;
  #keys = 0;

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.#history.tells = options.silent !== true;
    const world = worldNamed(options.world);
    this.#random = new SimulatedRandom(`${world.name}:${options.seed}`);
    this.#plan = world.plan(this.#random.fork('plan'));
    const drawn = drawRates(this.#random.fork('rates'), this.#plan.faults);
    const rates = { ...drawn, ...this.#plan.rates, ...options.rates };
    this.#faults = new Faults(rates, this.#random.fork('faults'));
    this.#planeLog = new SimLog('control-plane', () => this.#time.nowMs);
    this.#plane = new ControlPlaneNode({
      time: this.#time,
      random: this.#random.fork('plane'),
      faults: this.#faults,
      history: this.#history,
      log: this.#planeLog,
      store: options.store ?? 'memory',
    });
  }

  async run(): Promise<Outcome> {
    const { rates } = this.#faults;
    await this.#open();
    const faultSteps = await this.#trouble();
    const { settled, unsettled, calmAt } = await this.#calm();
    const tasks = await this.#read();
    await this.#finish();
    const left = { planeTimers: this.#plane.timers, streams: this.#plane.streams };
    const app = this.#producer instanceof OutboxProducer ? [this.#producer.log] : [];
    const logs = [this.#planeLog, ...app, ...this.#nodes.map((node) => node.log)];
    const finished: Finished = {
      history: this.#history,
      plan: this.#plan,
      rates,
      struck: this.#faults.struck,
      tasks,
      nodes: this.#nodes,
      logs,
      settled,
      unsettled,
      calmAt,
      left,
    };
    const violations = checkers.flatMap((checker) =>
      checker.check(finished).map((text) => ({ checker: checker.name, text })),
    );
    for (const { checker, text, at } of this.#history.seen)
      violations.push({ checker, text: `at ${Math.round(at)}: ${text}` });
    return {
      options: this.#options,
      violations,
      rates,
      struck: Object.fromEntries(this.#faults.struck),
      faultSteps,
      steps: this.#steps,
      simulatedMs: this.#time.nowMs,
      tasks: tasks.length,
      attempts: this.#history.jobs.length,
      digest: this.#history.digest,
      story: this.#history.story,
      log: logs.flatMap((log) => log.lines),
    };
  }

  async #open(): Promise<void> {
    const parts = {
      time: this.#time,
      faults: this.#faults,
      history: this.#history,
      plane: this.#plane,
    };
    await this.#time.until(this.#plane.start());
    for (const [i, worker] of this.#plan.workers.entries())
      this.#nodes.push(await this.#node(`w${i + 1}`, `worker-${i + 1}`, worker));
    const key = await this.#time.until(this.#plane.key('task-producer'));
    await this.#time.until(this.#plane.key('task-operator'));
    const given = { ...parts, random: this.#random.fork('producer') };
    this.#producer = this.#plan.outbox
      ? new OutboxProducer(given, key)
      : new SimulatedProducer(given, key);
    const planned = this.#plan.tasks.slice(0, this.#options.tasks);
    for (const [n, task] of planned.entries()) this.#producer.plan(task, n);
    if (this.#plan.operator)
      new SimulatedOperator({ ...parts, random: this.#random.fork('operator') }).watch(
        this.#plan.durationMs,
      );
    for (const { worker, atMs } of this.#plan.drains ?? [])
      this.#time.at(atMs, () => this.#nodes[worker]?.drain());
    this.#faults.begin();
    for (const node of this.#nodes) void node.start();
    this.#planeFaults();
    if (this.#producer instanceof OutboxProducer) this.#appFaults(this.#producer);
    for (const node of [...this.#nodes]) this.#nodeFaults(node);
  }

  async #node(
    name: string,
    workerId: string,
    worker: WorldPlan['workers'][number],
  ): Promise<WorkerNode> {
    const { drainTimeoutMs, stopGraceMs } = this.#plan;
    return new WorkerNode({
      name,
      workerId,
      time: this.#time,
      random: this.#random.fork(name),
      faults: this.#faults,
      history: this.#history,
      plane: this.#plane,
      pools: ['default'],
      drainTimeoutMs,
      stopGraceMs,
      keyFile: { key: await this.#newKey() },
      ...worker,
    });
  }

  #newKey(): Promise<string> {
    return this.#time.until(this.#plane.key('task-worker', `worker key ${++this.#keys}`));
  }

  /** Steps until the time of the faults is over. */
  async #trouble(): Promise<number> {
    const { durationMs } = this.#plan;
    const most = this.#options.steps ?? Number.POSITIVE_INFINITY;
    while (this.#time.nowMs < durationMs && this.#steps < most) if (!(await this.#step())) break;
    return this.#steps;
  }

  async #calm(): Promise<{ settled: boolean; unsettled: string; calmAt: number }> {
    const calmAt = this.#time.nowMs;
    this.#faults.stop();
    this.#history.tell(calmAt, 'the faults end');
    for (const node of this.#nodes) {
      node.healDisk();
      node.line.heal();
    }
    this.#producer.line.heal();
    if (this.#producer instanceof OutboxProducer)
      this.#producer.machine.disk.capacityBytes = Number.POSITIVE_INFINITY;
    let unsettled = 'nothing was looked at';
    for (const until = calmAt + SETTLE_MS; this.#time.nowMs < until; ) {
      await this.#runFor(5_000);
      if (!this.#plane.up) void this.#plane.start();
      for (const node of this.#nodes) if (!node.up) void node.start();
      unsettled = await this.#whatIsOpen();
      if (unsettled === '') return { settled: true, unsettled, calmAt };
    }
    return { settled: false, unsettled, calmAt };
  }

  /** In words; empty when everything has come to rest. */
  async #whatIsOpen(): Promise<string> {
    if (!this.#plane.up) return 'the control plane is down';
    if (this.#producer.busy) return this.#producer.busy;
    if (this.#history.offered.length < this.#planned) return 'not all is submitted';
    const { body } = await this.#plane.ask('GET', '/tasks?limit=500');
    const open = body.tasks.filter(
      (task: { status: string }) => task.status === 'queued' || task.status === 'running',
    );
    if (open.length > 0)
      return `${open.length} tasks are open, ${open[0].type} ${open[0].id} ${open[0].status}: ${JSON.stringify(open[0].waitingFor)}`;
    for (const node of this.#nodes) {
      const owed = [...node.files('reports'), ...node.files('running')];
      if (!node.retired && owed.length > 0)
        return `${node.o.name} has ${owed.length} files in its spool: ${owed[0]}`;
      if (node.hosts.running > 0)
        return `${node.o.name} has ${node.hosts.running} handler processes`;
      if (!node.retired && node.worker === undefined) return `${node.o.name} does not run`;
    }
    return '';
  }

  get #planned(): number {
    return Math.min(this.#plan.tasks.length, this.#options.tasks ?? Number.POSITIVE_INFINITY);
  }

  async #read(): Promise<TaskAtEnd[]> {
    if (!this.#plane.up) await this.#time.until(this.#plane.start());
    const { body } = await this.#plane.ask('GET', '/tasks?limit=500');
    const found: TaskAtEnd[] = [];
    for (const { id } of body.tasks) {
      const view = (await this.#plane.ask('GET', `/tasks/${id}`)).body;
      const events: JournalEvent[] = [];
      for (;;) {
        const after = events.length;
        const page = await this.#plane.ask('GET', `/tasks/${id}/events?after=${after}`);
        events.push(...page.body.events);
        if (page.body.events.length === 0) break;
      }
      found.push({ view, events });
    }
    return found;
  }

  /** Everybody drains, and a machine that lost its worker id hands in what it still owes. */
  async #finish(): Promise<void> {
    for (const node of this.#nodes) node.finish();
    if (this.#producer instanceof OutboxProducer) await this.#time.until(this.#producer.finish());
    await this.#runUntil(() => this.#nodes.every((node) => !node.up), FINISH_MS);
    for (const node of this.#nodes) {
      if (!node.retired || [...node.files('reports'), ...node.files('running')].length === 0)
        continue;
      node.retired = false;
      void node.start();
      await this.#runUntil(
        () => [...node.files('reports'), ...node.files('running')].length === 0,
        FINISH_MS,
      );
      node.finish();
      await this.#runUntil(() => !node.up, FINISH_MS);
    }
    await this.#runFor(LAST_CALLS_MS + 1);
    await this.#time.until(this.#plane.close());
  }

  async #step(): Promise<boolean> {
    this.#steps++;
    return this.#time.step();
  }

  async #runFor(ms: number): Promise<void> {
    const end = this.#time.nowMs + ms;
    await this.#runUntil(() => this.#time.nowMs >= end, ms + 1);
  }

  async #runUntil(done: () => boolean, limitMs: number): Promise<void> {
    const last = this.#time.nowMs + limitMs;
    while (!done()) {
      const next = this.#time.nextMs;
      if (next === undefined || next > last) {
        await this.#time.advance(Math.max(0, last - this.#time.nowMs));
        return;
      }
      await this.#step();
    }
  }

  #planeFaults(): void {
    this.#often('killPlane', () => {
      this.#plane.kill();
      this.#later(this.#faults.between('killPlane', 300, 20_000), () => void this.#plane.start());
    });
    this.#often('planeClockSet', () =>
      this.#plane.clock.jumpWall(this.#faults.between('planeClockSet', -4e6, 4e6)),
    );
    this.#often('suspendPlane', () =>
      this.#plane.clock.suspend(this.#faults.between('suspendPlane', 1_000, 40_000)),
    );
    this.#often('stopPlane', async () => {
      await this.#plane.stop();
      this.#later(this.#faults.between('stopPlane', 300, 10_000), () => void this.#plane.start());
    });
  }

  #appFaults(app: OutboxProducer): void {
    const { disk, clock } = app.machine;
    app.start();
    this.#often('killProducer', () => app.kill());
    this.#often('powerCut', () => app.powerCut());
    this.#often('lineDown', () => app.line.goDown(this.#faults.between('lineDown', 500, 60_000)));
    this.#often('suspend', () => clock.suspend(this.#faults.between('suspend', 1_000, 60_000)));
    this.#often('wallJump', () => clock.jumpWall(this.#faults.between('wallJump', -4e6, 4e6)));
    this.#often('diskFull', () => {
      disk.capacityBytes = disk.platter.usedBytes();
      this.#later(this.#faults.between('diskFull', 1_000, 40_000), () => {
        disk.capacityBytes = Number.POSITIVE_INFINITY;
      });
    });
  }

  #nodeFaults(node: WorkerNode): void {
    const { clock } = node.machine;
    this.#often('lineDown', () => node.line.goDown(this.#faults.between('lineDown', 500, 60_000)));
    this.#often('cutStream', () => node.line.cutStreams());
    this.#often('killWorker', () => node.kill());
    this.#often('powerCut', () => node.powerCut());
    this.#often('suspend', () => {
      const ms = this.#faults.between('suspend', 1_000, 60_000);
      this.#history.sleeps.push({ machine: node.o.name, from: this.#time.nowMs, ms });
      clock.suspend(ms);
    });
    this.#often('wallJump', () => clock.jumpWall(this.#faults.between('wallJump', -4e6, 4e6)));
    this.#often('sigterm', () => node.drain());
    this.#often('diskFull', () => {
      node.fillDisk();
      this.#later(this.#faults.between('diskFull', 1_000, 60_000), () => node.healDisk());
    });
    this.#often('diskError', () => {
      node.failDisk(this.#faults.of('diskError').pick(['EIO', 'EROFS', 'EMFILE']));
      this.#later(this.#faults.between('diskError', 500, 40_000), () => node.healDisk());
    });
    this.#often('slowDisk', () => node.slowDisk(this.#faults.between('slowDisk', 200, 8_000), 5));
    this.#often('keyRefused', async () => {
      const { keyFile } = node.o;
      this.#plane.refuse(keyFile.key);
      const key = await this.#plane.key('task-worker', `worker key ${++this.#keys}`);
      this.#later(this.#faults.between('keyRefused', 500, 30_000), () => {
        keyFile.key = key;
      });
    });
    this.#often('twin', async () => {
      if (this.#nodes.length >= MACHINES_MAX) return;
      const { name } = node.o;
      const key = await this.#plane.key('task-worker', `worker key ${++this.#keys}`);
      const twin = new WorkerNode({
        ...node.o,
        name: `${name}-twin${this.#nodes.length}`,
        random: this.#random.fork(`twin of ${name}`),
        keyFile: { key },
      });
      this.#nodes.push(twin);
      void twin.start();
    });
  }

  /** Strikes at the rate of the fault, as long as there are faults. */
  #often(name: FaultName, strike: () => unknown): void {
    const ms = this.#faults.nextMs(name);
    if (ms === Number.POSITIVE_INFINITY) return;
    this.#time.at(this.#time.nowMs + ms, () => {
      if (this.#faults.calm) return;
      this.#faults.count(name);
      this.#history.tell(this.#time.nowMs, `fault: ${name}`);
      strike();
      this.#often(name, strike);
    });
  }

  #later(ms: number, act: () => void): void {
    this.#time.at(this.#time.nowMs + ms, act);
  }
}

/** More than any grace, back-off and lease of a plan. */
const SETTLE_MS = 30 * 60_000;
const FINISH_MS = 15 * 60_000;
const MACHINES_MAX = 24;
