import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Script, SimulatedCarrier } from '../../sim/carrier.ts';
import { CollectingLog } from '../../sim/log.ts';
import { typeKey } from '../../src/contract/names.ts';
import type { Carrier } from '../../src/ports/carrier.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemDisk } from '../../src/system/disk.ts';
import { systemFolderLock } from '../../src/system/folder-lock.ts';
import { systemProcessInfo } from '../../src/system/process-info.ts';
import { systemRandom } from '../../src/system/random.ts';
import { InterlockTransport } from '../../src/transports/interlock.ts';
import { constantKey } from '../../src/transports/key-source.ts';
import { openSpool, type Spool } from '../../src/worker/spool.ts';
import { type ServedHandler, Worker, type WorkerSettings } from '../../src/worker/worker.ts';

/** A worker in this process with scripted handlers: real sockets, real disk, real clock. */
export interface Rig {
  readonly worker: Worker;
  readonly carrier: SimulatedCarrier;
  readonly log: CollectingLog;
  readonly spool: Spool;
  readonly folder: string;
  /** Ends the worker if it still runs, and removes its folder. */
  close(): Promise<void>;
}

export interface RigOptions extends Partial<WorkerSettings> {
  readonly url: string;
  readonly scripts: Record<string, Script>;
  readonly handlers: ServedHandler[];
  readonly ignoresStop?: string[];
  /** Keep what an earlier rig left. */
  readonly folder?: string;
  readonly carrier?: Carrier;
  readonly key?: string;
}

let made = 0;

export async function rig(options: RigOptions): Promise<Rig> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'interlock-worker-')));
  const clock = systemClock();
  const random = systemRandom();
  const log = new CollectingLog();
  const workerId = options.workerId ?? 'rig';
  const sessionId = `ses_${++made}_${process.pid}`;
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
    serviceUrl: options.url,
    onTrouble: (why) => worker?.spoolTrouble(why),
    onLost: (why) => worker?.spoolLost(why),
  });
  if (!opened.ok) throw opened.error;
  const { scripts, ignoresStop } = options;
  const carrier = new SimulatedCarrier({ scripts, ignoresStop, clock });
  const transport = new InterlockTransport({
    serviceUrl: options.url,
    key: constantKey(options.key ?? 'il_rig'),
    clock,
  });
  worker = new Worker(
    { clock, random, log, transport, carrier: options.carrier ?? carrier, spool: opened.spool },
    {
      workerId,
      sessionId,
      pools: options.pools ?? ['default'],
      maxConcurrent: options.maxConcurrent ?? 2,
      handlers: options.handlers,
      drainTimeoutMs: options.drainTimeoutMs ?? 10_000,
      stopGraceMs: options.stopGraceMs ?? 500,
      pollMaxMs: options.pollMaxMs ?? 1_000,
      versions: { agent: 'test' },
      ...(options.endOldHosts ? { endOldHosts: options.endOldHosts } : {}),
    },
  );
  const running = worker;
  return {
    worker: running,
    carrier,
    log,
    spool: opened.spool,
    folder,
    close: async () => {
      running.signal();
      await running.drain();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** `handler('demo/hello', 'pure')` */
export function handler(
  type: string,
  effectSafety: ServedHandler['effectSafety'] = 'pure',
  more: Partial<ServedHandler> = {},
): ServedHandler {
  return { type, schemaVersion: 1, effectSafety, effectGate: 'start', ...more };
}

export { typeKey };
