import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Script, SimulatedCarrier } from '../../sim/carrier.ts';
import { CollectingLog } from '../../sim/log.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import { type Fcp, type FcpOptions, startFcp } from '../../src/fcp/fcp.ts';
import type { Carrier } from '../../src/ports/carrier.ts';
import { openSpool, type Spool } from '../../src/spool/index.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemDisk } from '../../src/system/disk.ts';
import { systemFolderLock } from '../../src/system/folder-lock.ts';
import { systemProcessInfo } from '../../src/system/process-info.ts';
import { InterlockTransport } from '../../src/transports/interlock.ts';
import { constantKey, type KeySource } from '../../src/transports/key-source.ts';
import { type ServedHandler, Worker, type WorkerSettings } from '../../src/worker/worker.ts';

/** A worker in this process with scripted handlers: real sockets, real disk, real clock. */
export interface Rig {
  readonly worker: Worker;
  readonly carrier: SimulatedCarrier;
  readonly log: CollectingLog;
  readonly spool: Spool;
  readonly folder: string;
  /** Ends the worker at once if it still runs, and gives its spool back. The folder stays with the `Field`. */
  close(): Promise<void>;
}

export interface RigOptions extends Partial<WorkerSettings> {
  readonly scripts?: Record<string, Script>;
  readonly handlers?: ServedHandler[];
  readonly ignoresStop?: string[];
  /** Keep what an earlier rig left. */
  readonly folder?: string;
  readonly carrier?: Carrier;
  readonly key?: KeySource;
}

let made = 0;

/**
 * A control plane and its workers. Everything is ended by `await using`: then also no rule may have been broken, unless
 * the test tolerates it.
 */
export class Field implements AsyncDisposable {
  readonly fcp: Fcp;
  readonly rigs: Rig[] = [];
  readonly #folders: string[] = [];

  private constructor(fcp: Fcp) {
    this.fcp = fcp;
  }

  static async open(options: FcpOptions = {}): Promise<Field> {
    return new Field(await startFcp(options));
  }

  /** A worker, started. */
  async start(options: RigOptions = {}): Promise<Rig> {
    const rig = await this.make(options);
    await rig.worker.start();
    return rig;
  }

  async make(options: RigOptions = {}): Promise<Rig> {
    const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'interlock-worker-')));
    this.#folders.push(folder);
    const clock = systemClock();
    const n = ++made;
    const random = new SimulatedRandom(`rig ${n}`);
    const log = new CollectingLog(() => performance.now());
    const workerId = options.workerId ?? 'rig';
    const sessionId = `ses_${n}_${process.pid}`;
    const { url } = this.fcp;
    let worker: Worker | undefined;
    const opened = await openSpool({
      disk: systemDisk(),
      clock,
      log,
      lock: systemFolderLock(),
      processInfo: await systemProcessInfo(),
      folder,
      workerId,
      sessionId,
      serviceUrl: url,
      onTrouble: (why) => worker?.spoolTrouble(why),
      onLost: (why) => worker?.spoolLost(why),
    });
    if (!opened.ok) throw opened.error;
    const { spool } = opened;
    const { scripts = {}, ignoresStop } = options;
    const carrier = new SimulatedCarrier({ scripts, ignoresStop, clock });
    const key = options.key ?? constantKey('il_rig');
    const transport = new InterlockTransport({ serviceUrl: url, key, clock });
    worker = new Worker(
      { clock, random, log, transport, carrier: options.carrier ?? carrier, spool },
      {
        workerId,
        sessionId,
        pools: options.pools ?? ['default'],
        maxConcurrent: options.maxConcurrent ?? 2,
        handlers: options.handlers ?? [handler('demo/hello')],
        drainTimeoutMs: options.drainTimeoutMs ?? 10_000,
        stopGraceMs: options.stopGraceMs ?? 500,
        pollMaxMs: options.pollMaxMs ?? 1_000,
        versions: { agent: 'test' },
        ...(options.endOldHosts ? { endOldHosts: options.endOldHosts } : {}),
      },
    );
    const running = worker;
    const rig: Rig = {
      worker: running,
      carrier,
      log,
      spool,
      folder,
      close: async () => {
        running.spoolLost('the test is over');
        await running.ended;
        await spool.close();
      },
    };
    this.rigs.push(rig);
    return rig;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const violations = [...this.fcp.violations];
    for (const rig of this.rigs) await rig.close();
    await this.fcp.stop();
    for (const folder of this.#folders) await rm(folder, { recursive: true, force: true });
    expect(violations).toEqual([]);
    expect(this.rigs.flatMap(({ log }) => log.of('bug'))).toEqual([]);
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
