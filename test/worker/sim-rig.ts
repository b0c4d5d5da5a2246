import { expect } from 'vitest';
import { returned, type Script, SimulatedCarrier } from '../../sim/carrier.ts';
import type { CollectingLog } from '../../sim/log.ts';
import { SimulatedMachine, type SimulatedProcess } from '../../sim/machine.ts';
import type { SimulatedTime } from '../../sim/time.ts';
import { SimulatedTransport } from '../../sim/transport.ts';
import { type Report, terminalOps } from '../../src/contract/index.ts';
import { openSpool, type Spool } from '../../src/spool/index.ts';
import {
  type ServedHandler,
  Worker,
  type WorkerEnd,
  type WorkerSettings,
} from '../../src/worker/worker.ts';
import { type Mortal, mortal } from './mortal.ts';

const FOLDER = '/state/spool';
const REPORTS = `${FOLDER}/reports/`;

export interface SimOptions extends Partial<WorkerSettings> {
  readonly scripts?: Record<string, Script>;
  readonly handlers?: ServedHandler[];
  readonly ignoresStop?: string[];
  /** From the start of a job until its handler gets the input, milliseconds. */
  readonly beginMs?: number;
  readonly unkillable?: string[];
  /** See `SimulatedCarrierOptions`. */
  readonly waitInHost?: boolean;
}

/**
 * One machine, one control plane and one worker after the other in simulated time: a minute takes milliseconds. At the end
 * `check` looks whether any rule of the wire was broken, any lease lapsed, or any report went out before it was durable.
 */
export class SimWorld {
  readonly machine: SimulatedMachine;
  readonly transport: SimulatedTransport;
  worker!: Worker;
  carrier!: SimulatedCarrier;
  spool!: Spool;
  process!: SimulatedProcess;
  /** Of all sessions. */
  readonly logs: CollectingLog[] = [];
  readonly #durableNames = new Set<string>();
  /** Reports that were sent before they were durable. */
  readonly tooEarly: string[] = [];
  /** The disk refuses on purpose: reports go out directly. */
  diskRefuses = false;
  /** As the next worker is told it. */
  serviceUrl = 'http://sim.invalid';
  end: WorkerEnd | undefined;
  #sessions = 0;
  #life: Mortal | undefined;

  /** @param time of another world, whose time this one shares. */
  constructor(time?: SimulatedTime) {
    this.machine = new SimulatedMachine(time === undefined ? {} : { time });
    this.transport = new SimulatedTransport(this.machine.clock);
    this.transport.onSend = (report) => this.#sent(report);
  }

  get clock() {
    return this.machine.clock;
  }

  get log(): CollectingLog {
    return this.process.log;
  }

  get now(): number {
    return this.clock.now();
  }

  /** A process with a worker, not started yet. */
  async make(options: SimOptions = {}): Promise<Worker> {
    this.process = this.machine.start();
    this.logs.push(this.process.log);
    this.#life = mortal(this.clock, this.transport);
    const ports = { ...this.process, clock: this.#life.clock };
    const workerId = options.workerId ?? 'sim';
    const sessionId = `ses_${++this.#sessions}`;
    let worker: Worker | undefined;
    const opened = await openSpool({
      ...ports,
      folder: FOLDER,
      workerId,
      sessionId,
      serviceUrl: this.serviceUrl,
      onTrouble: (why) => worker?.spoolTrouble(why),
      onLost: (why) => worker?.spoolLost(why),
    });
    if (!opened.ok) throw opened.error;
    this.spool = opened.spool;
    const { scripts = {}, ignoresStop, unkillable, beginMs, waitInHost } = options;
    const jobs = { scripts, ignoresStop, unkillable, beginMs, waitInHost };
    this.carrier = new SimulatedCarrier({ ...jobs, clock: this.clock });
    worker = new Worker(
      { ...ports, transport: this.#life.transport, carrier: this.carrier, spool: opened.spool },
      {
        workerId,
        sessionId,
        pools: ['default'],
        maxConcurrent: 2,
        handlers: [handler('demo/hello')],
        drainTimeoutMs: 600_000,
        stopGraceMs: 10_000,
        pollMaxMs: 15_000,
        versions: { agent: 'test' },
        ...options,
      },
    );
    this.worker = worker;
    void worker.ended.then((end) => {
      this.end = end;
    });
    return worker;
  }

  /** Makes and starts one; its start is over. */
  async start(options: SimOptions = {}): Promise<void> {
    const worker = await this.make(options);
    await this.clock.time.until(worker.start(), 60_000);
  }

  /** A handler that takes so long, then returns; its stop is obeyed at once. */
  works(ms: number, result: unknown = 'done'): Script {
    return async () => {
      await this.clock.sleep(ms);
      return returned(result);
    };
  }

  /** kill -9. The spool stays. */
  kill(): void {
    this.#life?.kill();
    this.process.kill();
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  /** Moves on until it is so, at most `limitMs`. */
  async until(look: () => unknown, limitMs = 60_000, what = look.toString()): Promise<void> {
    const { time } = this.clock;
    const last = time.nowMs + limitMs;
    await time.settle();
    while (!look()) {
      const next = time.nextMs;
      if (next === undefined || next > last)
        throw new Error(`Not within ${limitMs} ms: ${what}\n${this.story()}`);
      await time.step();
    }
  }

  /** Until the worker has ended. */
  async ended(limitMs = 700_000): Promise<WorkerEnd> {
    return this.clock.time.until(this.worker.ended, limitMs);
  }

  /** Files in a folder of the spool, as shown. */
  files(folder: 'reports' | 'running' | 'stale' | 'refused'): string[] {
    return Object.entries(this.machine.disk.platter.tree())
      .filter(([path]) => path.startsWith(`${FOLDER}/${folder}/`))
      .map(([, text]) => text);
  }

  /** Nothing was done that may never be done. */
  check({ lapses = false } = {}): void {
    expect(this.transport.watch.violations).toEqual([]);
    expect(this.logs.flatMap((log) => log.of('bug'))).toEqual([]);
    if (!this.diskRefuses) expect(this.tooEarly).toEqual([]);
    if (lapses) return;
    for (const { attempt, lapsedMs } of this.transport.attempts.values())
      expect(lapsedMs, `lapse of ${attempt.attemptId}`).toBeLessThanOrEqual(0);
  }

  /** Calls and reports, for a message. */
  story(): string {
    return this.transport.calls
      .slice(-60)
      .map(({ kind, at, answer, request }) => {
        const ops = [request]
          .flat()
          .map((one) => (one as Report | undefined)?.op)
          .filter(Boolean);
        return `${Math.round(at)} ${kind} ${ops.join(',')} → ${answer?.kind ?? '…'}`;
      })
      .join('\n');
  }

  #hasDurableName(name: string): boolean {
    if (this.#durableNames.has(name)) return true;
    const { trace } = this.machine.disk;
    const renamed = trace.lastIndexOf(`rename ${REPORTS}${name}`);
    const placed = renamed >= 0 ? renamed : trace.indexOf(`open ${REPORTS}${name}`);
    const synced = trace.indexOf(`syncFolder ${REPORTS.slice(0, -1)}`, placed);
    if (placed >= 0 && synced > placed) this.#durableNames.add(name);
    return this.#durableNames.has(name);
  }

  /** A terminal report must be in a file whose name the folder's fsync has covered. */
  #sent(report: Report): void {
    if (!terminalOps.has(report.op) || report.op === 'release') return;
    const { platter } = this.machine.disk;
    for (const name of platter.names(REPORTS.slice(0, -1)).reverse()) {
      const durable = platter.get(`${REPORTS}${name}`)?.durable;
      // What was sent a moment ago stands at the end.
      if (
        !durable ||
        Buffer.from(durable.buffer, durable.byteOffset, durable.length).lastIndexOf(
          report.attemptId,
        ) < 0
      )
        continue;
      if (this.#hasDurableName(name)) return;
    }
    this.tooEarly.push(`${report.op} of ${report.attemptId} at ${this.now}`);
  }
}

/** `handler('demo/hello', 'pure')` */
export function handler(
  type: string,
  effectSafety: ServedHandler['effectSafety'] = 'pure',
  more: Partial<ServedHandler> = {},
): ServedHandler {
  return { type, schemaVersion: 1, effectSafety, effectGate: 'start', ...more };
}

export function gaps(times: readonly number[]): number[] {
  return times.slice(1).map((at, i) => at - (times[i] ?? 0));
}
