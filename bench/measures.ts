import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Bench, cpuMs, inFlight, rssMiB, start } from './processes.ts';

export interface Row {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** What the project aims at, where it aims at something. */
  readonly aim?: string;
  readonly note?: string;
}

interface View {
  id: string;
  status: string;
  createdAt: string;
  startedAt?: string;
  finishedAt?: string;
  result?: { begunAt: number };
}

const noop = (i: number, pool = 'default') => ({
  type: 'bench/noop',
  schemaVersion: 1,
  input: { i },
  pool,
});

export async function enqueueSingle(bench: Bench, count: number): Promise<Row> {
  const ms = await inFlight(count, 16, (i) => bench.call('POST', '/tasks', noop(i, 'parked')));
  return { what: 'enqueue, one by one, 16 in flight', value: (count / ms) * 1000, unit: 'tasks/s' };
}

export async function enqueueBatch(bench: Bench, count: number): Promise<Row> {
  const ms = await inFlight(count / 100, 4, (i) =>
    bench.call(
      'POST',
      '/tasks/batch',
      Array.from({ length: 100 }, (_, k) => noop(i * 100 + k, 'parked')),
    ),
  );
  return {
    what: 'enqueue, batches of 100, 4 in flight',
    value: (count / ms) * 1000,
    unit: 'tasks/s',
  };
}

/** From the first start to the last end, by the control plane's clock; the worker is started on a full queue. */
export async function drain(bench: Bench, concurrency: number, count: number): Promise<Row> {
  const pool = `drain-${concurrency}`;
  await inFlight(count / 100, 4, (i) =>
    bench.call(
      'POST',
      '/tasks/batch',
      Array.from({ length: 100 }, (_, k) => noop(i * 100 + k, pool)),
    ),
  );
  const worker = await bench.worker(concurrency, pool, [], ['--pool', pool]);
  await settled(bench, pool);
  await worker.stop();
  let from = Number.POSITIVE_INFINITY;
  let to = 0;
  for await (const task of all(bench, pool)) {
    from = Math.min(from, Date.parse(task.startedAt ?? ''));
    to = Math.max(to, Date.parse(task.finishedAt ?? ''));
  }
  return {
    what: `drain, concurrency ${concurrency}, one task per host process`,
    value: (count / (to - from)) * 1000,
    unit: 'tasks/s',
  };
}

/** One task at a time on an idle worker. */
export async function latency(bench: Bench, count: number): Promise<Row[]> {
  const worker = await bench.worker(2, 'latency', [], ['--pool', 'latency']);
  const starts: number[] = [];
  const ends: number[] = [];
  for (let i = 0; i < count + 20; i++) {
    const sent = performance.timeOrigin + performance.now();
    const made = await bench.call<View>('POST', '/tasks', noop(i, 'latency'));
    const done = await ended(bench, made.id);
    if (i < 20) continue; // hosts and caches warm up
    starts.push((done.result?.begunAt ?? Number.NaN) - sent);
    ends.push(Date.parse(done.finishedAt ?? '') + 0.5 - sent);
  }
  await worker.stop();
  const rows = (what: string, list: number[], aim?: string): Row[] =>
    [0.5, 0.95, 0.99].map((p) => ({
      what: `${what}, p${p * 100}`,
      value: percentile(list, p),
      unit: 'ms',
      ...(aim && p === 0.5 ? { aim } : {}),
    }));
  return [
    ...rows('idle: enqueue → handler start', starts, '< 10'),
    ...rows('idle: enqueue → recorded', ends),
  ];
}

/** kill -9 of a worker in the middle of a task, and a restart: how soon is the task told as lost, and running again? */
export async function afterKill(bench: Bench, runs: number): Promise<Row[]> {
  const lost: number[] = [];
  const again: number[] = [];
  for (let i = 0; i < runs; i++) {
    const pool = `kill-${i}`;
    const first = await bench.worker(1, pool, [], ['--pool', pool]);
    const made = await bench.call<View>('POST', '/tasks', {
      ...noop(i, pool),
      type: 'bench/hold',
    });
    await event(bench, made.id, 'started');
    await first.kill();
    const restarted = performance.timeOrigin + performance.now();
    const second = await bench.worker(1, pool, [], ['--pool', pool]);
    lost.push(Date.parse((await event(bench, made.id, 'lost')).at) - restarted);
    const done = await ended(bench, made.id);
    again.push((done.result?.begunAt ?? Number.NaN) - restarted);
    await second.stop();
  }
  return [
    {
      what: 'kill -9 of a busy worker: restart → the task is told as lost',
      value: percentile(lost, 0.5),
      unit: 'ms',
    },
    {
      what: 'kill -9 of a busy worker: restart → its next attempt runs',
      value: percentile(again, 0.5),
      unit: 'ms',
      aim: '< 1000',
    },
  ];
}

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
    what: `worker: spawn → first claim sent (median of ${runs})`,
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
    { what: 'idle agent without hosts: memory (RSS)', value: rss, unit: 'MiB', aim: '< 90' },
    { what: `idle agent: CPU a minute (seen over ${seconds} s)`, value: used, unit: 'ms' },
  ];
}

/** fsync and fdatasync calls of both processes for each task, counted by strace in a run of its own. */
export async function fsyncs(bench: Bench, concurrency: number, count: number): Promise<Row[]> {
  if (spawnSync('strace', ['-V'], { stdio: 'ignore' }).status !== 0) return [];
  const pool = `fsync-${concurrency}`;
  const worker = await bench.worker(concurrency, pool, [], ['--pool', pool]);
  await submitAndWait(bench, pool, 1, 1); // hosts are up
  const traces = [bench.controlPlane, worker].map(({ name, pid }) =>
    trace(join(bench.folder, `${name}-${pool}`), pid),
  );
  await Promise.all(traces.map((one) => one.attached));
  await submitAndWait(bench, pool, count, 16);
  const [plane = Number.NaN, agent = Number.NaN] = await Promise.all(
    traces.map((one) => one.count()),
  );
  await worker.stop();
  return [
    {
      what: `fsyncs per task, control plane (submitted one by one, 16 in flight, concurrency ${concurrency})`,
      value: plane / count,
      unit: '',
    },
    {
      what: `fsyncs per task, worker (concurrency ${concurrency})`,
      value: agent / count,
      unit: '',
    },
  ];
}

async function submitAndWait(
  bench: Bench,
  pool: string,
  count: number,
  width: number,
): Promise<void> {
  await inFlight(count, width, (i) => bench.call('POST', '/tasks', noop(i, pool)));
  await settled(bench, pool);
}

function trace(file: string, pid: number) {
  const child = spawn(
    'strace',
    ['-f', '-e', 'trace=fsync,fdatasync', '-o', file, '-p', String(pid)],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const attached = new Promise<void>((resolve) => child.stderr.once('data', () => resolve()));
  const gone = new Promise((resolve) => child.once('exit', resolve));
  return {
    attached,
    count: async () => {
      child.kill('SIGINT');
      await gone;
      return readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => /\bf(data)?sync\(/.test(line)).length;
    },
  };
}

async function ended(bench: Bench, id: string): Promise<View> {
  await event(bench, id, 'succeeded');
  return bench.call<View>('GET', `/tasks/${id}`);
}

/** The first entry of this kind; waits for it. */
async function event(bench: Bench, id: string, kind: string): Promise<{ at: string }> {
  let after = 0;
  for (;;) {
    const { events } = await bench.call<{ events: { seq: number; kind: string; at: string }[] }>(
      'GET',
      `/tasks/${id}/events?after=${after}&waitMs=10000`,
    );
    after = events.at(-1)?.seq ?? after;
    const found = events.find((one) => one.kind === kind);
    if (found) return found;
  }
}

async function settled(bench: Bench, pool: string): Promise<void> {
  for (;;) {
    const { tasks } = await bench.call<{ tasks: View[] }>(
      'GET',
      `/tasks?pool=${pool}&status=queued&status=running&limit=1`,
    );
    if (tasks.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function* all(bench: Bench, pool: string): AsyncGenerator<View> {
  let cursor: string | undefined;
  do {
    const page = await bench.call<{ tasks: View[]; cursor?: string }>(
      'GET',
      `/tasks?pool=${pool}&limit=500${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`,
    );
    yield* page.tasks;
    cursor = page.cursor;
  } while (cursor);
}

export function percentile(list: readonly number[], p: number): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))] ?? Number.NaN;
}
