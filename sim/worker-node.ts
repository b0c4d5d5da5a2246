import type { TerminalReport } from '../src/contract/index.ts';
import { openSpool, type Spool } from '../src/spool/index.ts';
import { InterlockTransport } from '../src/transports/interlock.ts';
import { type ServedHandler, Worker, type WorkerEnd } from '../src/worker/worker.ts';
import type { ControlPlaneNode } from './control-plane-node.ts';
import type { Faults } from './faults.ts';
import type { History, ProcessLife } from './history.ts';
import { type Agent, SimulatedHosts } from './hosts.ts';
import { Life } from './life.ts';
import { Line } from './line.ts';
import { SimulatedMachine } from './machine.ts';
import type { SimulatedRandom } from './random.ts';
import { SimLog } from './sim-log.ts';
import type { SimulatedTime } from './time.ts';

export interface WorkerNodeOptions {
  readonly name: string;
  readonly workerId: string;
  readonly time: SimulatedTime;
  readonly random: SimulatedRandom;
  readonly faults: Faults;
  readonly history: History;
  readonly plane: ControlPlaneNode;
  readonly latencyMs: number;
  readonly handlers: readonly ServedHandler[];
  readonly maxConcurrent: number;
  readonly drainTimeoutMs: number;
  readonly stopGraceMs: number;
  readonly pools: readonly string[];
  /** The key in its file, at any time. */
  readonly keyFile: { key: string };
}

export const SPOOL = '/spool';

/** Longer than any call. */
export const LAST_CALLS_MS = 15_000;

interface Running {
  readonly life: Life;
  readonly worker: Worker;
  readonly told: ProcessLife;
}

/**
 * One machine with one worker on it: the real worker, spool and transport on simulated ports. Its agent is killed,
 * drained and started again; the machine sleeps, its disk fills up, its power goes.
 */
export class WorkerNode {
  readonly machine: SimulatedMachine;
  readonly line: Line;
  readonly hosts: SimulatedHosts;
  readonly log: SimLog;
  readonly o: WorkerNodeOptions;
  /** Superseded for good: no service unit starts it again. */
  retired = false;
  #running: Running | undefined;
  #starting = false;
  #sessions = 0;
  #diskFaults: { clear(): void }[] = [];
  #armed: { clear(): void } | undefined;

  constructor(options: WorkerNodeOptions) {
    this.o = options;
    const { time, faults, random, history, plane, latencyMs, name } = options;
    this.machine = new SimulatedMachine({
      time,
      hostName: name,
      random: random.fork('machine'),
      rate: 1 + faults.rates.drift * (2 * faults.of('drift').fraction() - 1),
    });
    this.machine.disk.traces = false;
    this.log = new SimLog(name, () => time.nowMs);
    this.line = new Line({
      time,
      faults,
      random: random.fork('line'),
      history,
      plane,
      latencyMs,
    });
    this.hosts = new SimulatedHosts({
      clock: this.machine.clock,
      nowMs: () => time.nowMs,
      faults,
      random: random.fork('hosts'),
      history,
      machine: name,
    });
  }

  get worker(): Worker | undefined {
    return this.#running?.worker;
  }

  get up(): boolean {
    return this.#running !== undefined || this.#starting;
  }

  /** Starts the agent; again later where its spool cannot be taken now. */
  async start(): Promise<void> {
    if (this.up || this.retired) return;
    this.#starting = true;
    const { name, workerId, time, faults, history, keyFile } = this.o;
    const process = this.machine.start();
    const life = new Life(process.clock);
    life.onDeath(() => process.kill());
    const session = `ses_${name}_${++this.#sessions}`;
    const told: ProcessLife = {
      name: `${name}#${this.#sessions}`,
      machine: name,
      workerId,
      session,
      maxConcurrent: this.o.maxConcurrent,
      drainTimeoutMs: this.o.drainTimeoutMs,
      startedAt: time.nowMs,
    };
    history.processes.push(told);
    history.tell(time.nowMs, `${told.name} starts`);
    const crash = () => this.#died(life, told);
    if (faults.strikes('killAtDisk')) this.#dieAtDisk(crash);

    let worker: Worker | undefined;
    const early: { trouble?: string | undefined; lost?: string } = {};
    this.#dying = { life, told };
    const opened = await openSpool({
      ...process,
      clock: life.clock,
      log: this.log,
      folder: SPOOL,
      workerId,
      sessionId: session,
      serviceUrl: 'http://127.0.0.1:7420',
      // Enough for what runs here; the real one would cost each start some megabytes of time.
      reserveBytes: 8_192,
      onTrouble: (why) => {
        early.trouble = why;
        worker?.spoolTrouble(why);
      },
      onLost: (why) => {
        early.lost = why;
        worker?.spoolLost(why);
      },
    });
    // It died in the middle of that.
    if (!life.alive) return;
    if (!opened.ok) {
      this.log.warn('start.failed', opened.error.message);
      this.#died(life, told);
      return;
    }
    const { spool } = opened;
    // Whoever asked for it: a signal, an operator, a process that took the id.
    this.log.onEvent = (event) => {
      if (event === 'drain.begin' && life.alive) told.drainAt ??= time.nowMs;
    };
    const inUse = { key: keyFile.key };
    const transport = new InterlockTransport({
      serviceUrl: 'http://127.0.0.1:7420',
      clock: life.clock,
      key: {
        current: () => inUse.key,
        reload: async () => {
          inUse.key = keyFile.key;
          return inUse.key;
        },
      },
      fetch: this.line.fetch({
        name: told.name,
        session,
        life,
        draining: () => told.drainAt !== undefined,
        crash,
      }),
    });
    const agent: Agent = { session, workerId, maxConcurrent: this.o.maxConcurrent, life };
    worker = new Worker(
      {
        clock: life.clock,
        random: process.random,
        log: this.log,
        transport,
        carrier: this.hosts.carrier(agent),
        spool: watched(spool, told, history, () => time.nowMs),
      },
      {
        workerId,
        sessionId: session,
        pools: this.o.pools,
        maxConcurrent: this.o.maxConcurrent,
        handlers: this.o.handlers,
        drainTimeoutMs: this.o.drainTimeoutMs,
        stopGraceMs: this.o.stopGraceMs,
        pollMaxMs: 15_000,
        versions: { agent: 'sim' },
        endOldHosts: () => this.hosts.endOld(life.clock, session),
      },
    );
    if (early.trouble !== undefined) worker.spoolTrouble(early.trouble);
    if (early.lost !== undefined) worker.spoolLost(early.lost);
    this.#running = { life, worker, told };
    this.#starting = false;
    this.#dying = undefined;
    void worker.ended.then((end) => this.#ended(life, told, end));
    void worker.start();
  }

  /** Set while it starts. */
  #dying: { life: Life; told: ProcessLife } | undefined;

  /** kill -9. It starts again, as by a service unit. */
  kill(): void {
    const one = this.#running ?? this.#dying;
    if (one) this.#died(one.life, one.told);
  }

  /** SIGTERM. */
  drain(): void {
    const one = this.#running;
    if (!one) return;
    this.o.history.tell(this.o.time.nowMs, `${one.told.name} SIGTERM`);
    one.worker.signal();
  }

  powerCut(): void {
    const { faults, time, history, name } = this.o;
    history.tell(time.nowMs, `${name} has no power`);
    this.hosts.powerCut();
    const one = this.#running ?? this.#dying;
    // Before its processes end, so that the disk forgets as much as it may.
    this.machine.powerCut(faults.of('powerCut'));
    if (one) this.#died(one.life, one.told);
  }

  fillDisk(): void {
    const { disk } = this.machine;
    disk.capacityBytes = disk.platter.usedBytes() + this.o.faults.between('diskFull', 0, 300);
    this.o.history.tell(this.o.time.nowMs, `${this.o.name} disk is full`);
  }

  failDisk(code: string): void {
    this.#diskFaults.push(
      this.machine.disk.fail({
        step: ['open', 'write', 'append', 'syncFile', 'rename', 'syncFolder'],
        code,
      }),
    );
    this.o.history.tell(this.o.time.nowMs, `${this.o.name} disk fails with ${code}`);
  }

  slowDisk(ms: number, times: number): void {
    this.#diskFaults.push(this.machine.disk.fail({ step: ['syncFile', 'syncFolder'], ms, times }));
  }

  healDisk(): void {
    this.machine.disk.capacityBytes = Number.POSITIVE_INFINITY;
    for (const fault of this.#diskFaults.splice(0)) fault.clear();
  }

  /** Names of the files in a folder of the spool. */
  files(folder: string): string[] {
    return this.machine.disk.platter.names(`${SPOOL}/${folder}`);
  }

  #dieAtDisk(crash: () => void): void {
    const { disk } = this.machine;
    const { faults } = this.o;
    const steps = 1 + faults.of('killAtDisk').below(250);
    this.#armed = disk.crashBefore(disk.steps + steps, crash);
  }

  #died(life: Life, told: ProcessLife): void {
    if (!life.alive) return;
    this.#armed?.clear();
    const { time, history } = this.o;
    told.killedAt = time.nowMs;
    history.tell(time.nowMs, `${told.name} dies`);
    // One that had ended may die of its last call, while the next one runs.
    const current = (this.#running ?? this.#dying)?.life === life;
    life.die();
    if (!current) return;
    this.#running = undefined;
    this.#starting = false;
    this.#dying = undefined;
    this.#startLater(this.o.faults.between('killWorker', 200, 12_000));
  }

  #ended(life: Life, told: ProcessLife, end: WorkerEnd): void {
    if (!life.alive) return;
    this.#armed?.clear();
    const { time, history } = this.o;
    told.endedAt = time.nowMs;
    told.end = end.why;
    history.tell(time.nowMs, `${told.name} ended: ${end.why}, ${end.unsent} unsent`);
    // Calls that were under way end by their own limit.
    this.machine.clock.timer(LAST_CALLS_MS, () => {
      if (life.timers > 0)
        history.seen.push({
          checker: 'leaves-nothing',
          at: time.nowMs,
          text: `${told.name} ended (${end.why}) ${LAST_CALLS_MS} ms ago and still has ${life.timers} timers: ${life.waiting}`,
        });
      life.die();
    });
    this.#running = undefined;
    if (end.why === 'superseded') this.retired = true;
    else if (!this.#last) this.#startLater(this.o.faults.between('sigterm', 500, 20_000));
  }

  #last = false;

  /** It is drained now and not started again. */
  finish(): void {
    this.#last = true;
    this.drain();
  }

  #startLater(ms: number): void {
    this.machine.clock.timer(ms, () => {
      if (!this.#last) void this.start();
    });
  }
}

/** Notes what is durable, at the moment the spool says so. */
function watched(spool: Spool, told: ProcessLife, history: History, now: () => number): Spool {
  const durable = ({ taskId, attemptId, op }: TerminalReport) => {
    history.spooled.push({
      attemptId,
      taskId,
      op,
      session: told.session,
      machine: told.machine,
      at: now(),
      callsBefore: history.calls.length,
    });
    history.tell(now(), `${told.name} spooled ${op}:${attemptId.slice(-6)}`);
  };
  return new Proxy(spool, {
    get(target, name) {
      if (name === 'writeReport')
        return async (...given: Parameters<Spool['writeReport']>) => {
          const written = await target.writeReport(...given);
          durable(given[0]);
          return written;
        };
      if (name === 'writeReports')
        return async (reports: Parameters<Spool['writeReports']>[0]) => {
          const written = await target.writeReports(reports);
          for (const [i, { report }] of reports.entries())
            if (written[i] instanceof Promise)
              written[i].then(
                () => durable(report),
                () => {},
              );
            else durable(report);
          return written;
        };
      const member = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}
