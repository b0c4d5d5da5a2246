import { drainOnce } from './drain.ts';
import { batchRate, singleRate } from './enqueue.ts';
import { firstDone, latencies } from './latency.ts';
import { type Bench, cpuMs, rssMiB, type Started } from './processes.ts';
import { byProcesses, type Way } from './ways.ts';

/** One queue of the comparison. What it does not have is a row without a figure. */
export interface Contender {
  readonly name: string;
  /** What its figures are made with. */
  readonly settings: string;
  /** Tasks a second from a full queue, its first ones not counted. */
  drain(concurrency: number, count: number): Promise<number>;
  single?(count: number): Promise<number>;
  bulk?(count: number): Promise<number>;
  /** In ms. */
  latencies?(count: number): Promise<{ start: number[]; recorded: number[] }>;
  firstDone?(run: number): Promise<number>;
  idle?(seconds: number): Promise<Idle>;
  close(): Promise<void>;
}

/** Memory in MiB, processor time in ms a minute. */
export interface Idle {
  readonly memory: number;
  readonly worker: number;
  readonly server: number;
}

export function ours(bench: Bench): Contender {
  return {
    name: 'ours',
    settings:
      'control plane over SQLite (every commit synced), worker with a fsynced spool, all over HTTP/1.1; a handler process for each slot; results and journal are kept; batches form by themselves, none is asked for; the client is TaskProducer: submit for one by one (what is submitted together goes together), submitMany for batches',
    drain: async (concurrency, count) =>
      (await drainOnce(bench, byProcesses(bench, concurrency), count)).rate,
    single: (count) => singleRate(bench, count),
    bulk: (count) => batchRate(bench, count),
    latencies: async (count) => {
      const { start, told } = await latencies(bench, count);
      return { start, recorded: told };
    },
    firstDone: (run) => firstDone(bench, `compare-${run}`),
    idle: async (seconds) => {
      const worker = await bench.worker(16, 'idle', [], ['--pool', 'idle']);
      const seen = await seenIdle(
        worker,
        () => cpuMs(bench.controlPlane.pid) ?? Number.NaN,
        seconds,
      );
      await worker.stop();
      return seen;
    },
    close: async () => {},
  };
}

/** The same control plane and tasks, other ways to run handlers. */
export function oursBy(
  bench: Bench,
  name: string,
  settings: string,
  way: (concurrency: number) => Way,
): Contender {
  return {
    name,
    settings,
    drain: async (concurrency, count) => (await drainOnce(bench, way(concurrency), count)).rate,
    close: async () => {},
  };
}

/** What a started worker takes while nothing is to be done, after five seconds to settle. */
export async function seenIdle(
  worker: Pick<Started, 'pid'>,
  server: () => number,
  seconds: number,
): Promise<Idle> {
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const before = [cpuMs(worker.pid) ?? Number.NaN, server()] as const;
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  return {
    memory: rssMiB(worker.pid) ?? Number.NaN,
    worker: ((cpuMs(worker.pid) ?? Number.NaN) - before[0]) * (60 / seconds),
    server: (server() - before[1]) * (60 / seconds),
  };
}
