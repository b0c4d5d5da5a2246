import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Bench, cpuMs, rssMiB, start } from './processes.ts';
import { medianOf, percentile, type Row } from './rows.ts';

export { percentile, type Row };

/** Spawn → first claim on the wire, seen by a server that answers nothing else. */
export async function workerStart(
  bench: Bench,
  runs: number,
  env: (run: number) => Record<string, string> = () => ({}),
): Promise<Row> {
  const times: number[] = [];
  for (let i = 0; i < runs; i++) {
    let seen: (at: number) => void = () => {};
    const first = new Promise<number>((resolve) => {
      seen = resolve;
    });
    const server = createServer((request, response) => {
      if (request.url?.endsWith('/claims')) seen(performance.now());
      request.resume();
      request.on('end', () => {
        response.setHeader('content-type', 'application/json');
        response.end(
          JSON.stringify({
            serverTime: new Date().toISOString(),
            project: 'bench',
            attempts: [],
            needHandlers: false,
          }),
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const worker = start(
      bench.program,
      [
        '--url',
        `http://127.0.0.1:${port}`,
        '--handlers',
        join(import.meta.dirname, 'handlers'),
        '--spool',
        join(bench.folder, `start-${i}`),
        '--worker-id',
        `start-${i}`,
      ],
      { INTERLOCK_WORKER_KEY: 'il_bench', INTERLOCK_LOG_LEVEL: 'error', ...env(i) },
    );
    times.push((await first) - worker.spawnedAt);
    await worker.stop();
    server.closeAllConnections();
    server.close();
  }
  return {
    what: `worker: spawn → first claim sent (${medianOf(runs)})`,
    value: percentile(times, 0.5),
    unit: 'ms',
    aim: '< 300',
  };
}

/**
 * An agent that nobody gives work, seen twice: from when its start is over, and from a minute and a half later, which is how it goes on. In the first
 * it compiles again what it needs of the code that it gave back when it came to rest, once. Quickly: only the first five seconds.
 */
export async function idle(bench: Bench, quick: boolean): Promise<Row[]> {
  const worker = await bench.worker(2, 'idle', [], ['--pool', 'idle']);
  const rows: Row[] = [];
  const reach = (second: number) =>
    new Promise((resolve) =>
      setTimeout(resolve, worker.spawnedAt + second * 1_000 - performance.now()),
    );
  const cpu = () => cpuMs(worker.pid) ?? Number.NaN;
  for (const [from, to] of quick ? [[5, 10]] : IDLE_SECONDS) {
    await reach(from);
    const before = cpu();
    await reach(to);
    rows.push(
      {
        what: `idle agent without hosts: memory (RSS), ${to} s after its start`,
        value: rssMiB(worker.pid) ?? Number.NaN,
        unit: 'MiB',
        ...(from === REST_FROM && { aim: '< 62' }),
      },
      {
        what: `idle agent: CPU a minute, seen from ${from} to ${to} s after its start`,
        value: (cpu() - before) * (60 / (to - from)),
        unit: 'ms',
        ...(from > REST_FROM && { aim: '< 20' }),
      },
    );
  }
  await worker.stop();
  return rows;
}

/** It has come to rest by then. */
const REST_FROM = 5;
const IDLE_SECONDS = [
  [REST_FROM, 35],
  [95, 125],
] as const;
