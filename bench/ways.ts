import { join } from 'node:path';
import { type Bench, type Started, start } from './processes.ts';

/** A way to run handlers: `worker` starts what takes the tasks of a pool. */
export interface Way {
  readonly name: string;
  readonly concurrency: number;
  /** Of the tasks: its handler is declared for this way. */
  readonly type: string;
  worker(pool: string): Promise<Started>;
}

export function byProcesses(bench: Bench, concurrency: number): Way {
  return {
    name: 'one task per host process',
    concurrency,
    type: 'bench/noop',
    worker: (pool) => bench.worker(concurrency, pool, [], ['--pool', pool]),
  };
}

export function bySharedHosts(bench: Bench, concurrency: number): Way {
  return { ...byProcesses(bench, concurrency), name: 'shared hosts', type: 'bench/shared' };
}

export function bySdk(bench: Bench, concurrency: number): Way {
  const script = join(import.meta.dirname, 'sdk-worker.mjs');
  return {
    name: 'SDK inline',
    concurrency,
    type: 'bench/noop',
    worker: async (pool) =>
      start(
        process.execPath,
        [
          '--disable-warning=ExperimentalWarning',
          ...[script, bench.url, join(bench.folder, `spool-${pool}`), pool, String(concurrency)],
        ],
        { INTERLOCK_WORKER_KEY: bench.keys['task-worker'] as string },
      ),
  };
}
