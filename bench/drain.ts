import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mine } from './ending.ts';
import { fill } from './enqueue.ts';
import { type Bench, cpuMs } from './processes.ts';
import { median, medianOf, type Row } from './rows.ts';
import type { Way } from './ways.ts';

interface View {
  startedAt?: string;
  finishedAt?: string;
}

/** What one drain showed. Processor time is of all tasks of it, the first ones too, for each task. */
export interface Drained {
  readonly rate: number;
  readonly planeUs: number;
  readonly agentUs: number;
}

let drains = 0;

/** How long a drain would take at the rate of the first one. */
const SECONDS = 6;

/**
 * The worker is started on a full queue. The first tasks warm its hosts and are not counted: from the first start after
 * them to the last end, by the control plane's clock.
 */
export async function drainOnce(bench: Bench, way: Way, count: number): Promise<Drained> {
  const warm = Math.max(10 * way.concurrency, Math.ceil(count / 10));
  const pool = `drain-${drains++}`;
  await fill(bench, pool, warm + count, way.type);
  const before = cpuMs(bench.controlPlane.pid) ?? Number.NaN;
  const worker = await way.worker(pool);
  await settled(bench, pool);
  const used = (cpuMs(bench.controlPlane.pid) ?? Number.NaN) - before;
  const agent = cpuMs(worker.pid) ?? Number.NaN;
  await worker.stop();
  const spans: { from: number; to: number }[] = [];
  for await (const { startedAt = '', finishedAt = '' } of all(bench, pool))
    spans.push({ from: Date.parse(startedAt), to: Date.parse(finishedAt) });
  spans.sort((a, b) => a.from - b.from);
  const counted = spans.slice(warm);
  const to = counted.reduce((latest, span) => Math.max(latest, span.to), 0);
  return {
    rate: (counted.length / (to - (counted[0]?.from ?? Number.NaN))) * 1000,
    planeUs: (used / (warm + count)) * 1000,
    agentUs: (agent / (warm + count)) * 1000,
  };
}

/** The median of several drains; what they cost is printed beside it. */
export async function drain(
  bench: Bench,
  way: Way,
  options: { most: number; times: number; aim: string },
): Promise<Row> {
  // By a first one, cold and not counted: in a shorter drain most of the code is still being compiled.
  const first = await drainOnce(bench, way, Math.min(300, options.most));
  const wanted = Math.min(options.most, Math.max(300, first.rate * SECONDS));
  const count = Math.round(wanted / 100) * 100;
  const seen: Drained[] = [];
  for (let i = 0; i < options.times; i++) seen.push(await drainOnce(bench, way, count));
  const of = (key: keyof Drained) => median(seen.map((one) => one[key]));
  // It goes slower under strace.
  const syncs = await fsyncs(bench, way, Math.round(Math.min(2_000, Math.max(200, count / 2))));
  return {
    what: `drain, concurrency ${way.concurrency}, ${way.name} (${count} tasks, ${medianOf(options.times)})`,
    value: of('rate'),
    unit: 'tasks/s',
    aim: options.aim,
    note: `processor µs/task: control plane ${of('planeUs').toFixed(0)}, agent ${of('agentUs').toFixed(0)}; ${syncs}`,
  };
}

/** fsync and fdatasync calls of both processes for each task, counted by strace in a drain of its own. */
async function fsyncs(bench: Bench, way: Way, count: number): Promise<string> {
  if (spawnSync('strace', ['-V'], { stdio: 'ignore' }).status !== 0)
    return 'fsyncs not counted: there is no strace';
  const pool = `drain-${drains++}`;
  const worker = await way.worker(pool);
  await fill(bench, pool, way.concurrency, way.type);
  await settled(bench, pool); // hosts are up
  const traces = [bench.controlPlane, worker].map(({ pid }, i) =>
    trace(join(bench.folder, `fsyncs-${pool}-${i}`), pid),
  );
  await Promise.all(traces.map((one) => one.attached));
  await fill(bench, pool, count, way.type);
  await settled(bench, pool);
  const [plane = 0, agent = 0] = await Promise.all(traces.map((one) => one.count()));
  await worker.stop();
  return `fsyncs/task: ${(plane / count).toFixed(2)} and ${(agent / count).toFixed(2)}`;
}

function trace(file: string, pid: number) {
  const child = mine(
    spawn('strace', ['-f', '-e', 'trace=fsync,fdatasync', '-o', file, '-p', String(pid)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    }),
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

export async function settled(bench: Bench, pool: string): Promise<void> {
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
