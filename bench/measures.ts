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

export async function idle(bench: Bench, seconds: number): Promise<Row[]> {
  const worker = await bench.worker(2, 'idle', [], ['--pool', 'idle']);
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const before = cpuMs(worker.pid) ?? Number.NaN;
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const used = ((cpuMs(worker.pid) ?? Number.NaN) - before) * (60 / seconds);
  const rss = rssMiB(worker.pid) ?? Number.NaN;
  await worker.stop();
  return [
    { what: 'idle agent without hosts: memory (RSS)', value: rss, unit: 'MiB', aim: '< 62' },
    {
      what: `idle agent: CPU a minute (seen over ${seconds} s)`,
      value: used,
      unit: 'ms',
      aim: '< 20',
    },
  ];
}
