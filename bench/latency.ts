import { noop } from './enqueue.ts';
import type { Bench } from './processes.ts';
import { median, percentile, type Row } from './rows.ts';

interface View {
  id: string;
  finishedAt?: string;
  result?: { begunAt: number };
}

/** In ms from the moment in which the client sends the task. */
export interface Latencies {
  /** To the first line of the handler. */
  readonly start: number[];
  /** To the control plane's `finishedAt`. */
  readonly recorded: number[];
  /** To the client's being told: the answer of its long poll, after the commit. */
  readonly told: number[];
}

const wall = () => performance.timeOrigin + performance.now();

/** One task at a time on an idle worker that has done twenty. */
export async function latencies(bench: Bench, count: number): Promise<Latencies> {
  const pool = 'latency';
  const worker = await bench.worker(2, pool, [], ['--pool', pool]);
  const seen: Latencies = { start: [], recorded: [], told: [] };
  for (let i = 0; i < count + 20; i++) {
    const sent = wall();
    const made = await bench.call<View>('POST', '/tasks', noop(i, pool));
    await event(bench, made.id, 'succeeded');
    const told = wall();
    const done = await bench.call<View>('GET', `/tasks/${made.id}`);
    if (i < 20) continue; // hosts and caches warm up
    seen.start.push((done.result?.begunAt ?? Number.NaN) - sent);
    // Whole milliseconds, cut off: the middle of what it may have been.
    seen.recorded.push(Date.parse(done.finishedAt ?? '') + 0.5 - sent);
    seen.told.push(told - sent);
  }
  await worker.stop();
  return seen;
}

export async function latency(bench: Bench, count: number): Promise<Row[]> {
  const seen = await latencies(bench, count);
  const row = (what: string, list: number[], p: number, aim?: string): Row => ({
    what: `idle: ${what}, p${p * 100}`,
    value: percentile(list, p),
    unit: 'ms',
    ...(aim && { aim }),
  });
  return [
    row('enqueue → handler start', seen.start, 0.5, '< 1.9'),
    row('enqueue → handler start', seen.start, 0.95),
    row('enqueue → handler start', seen.start, 0.99, '< 5.6'),
    row('enqueue → recorded', seen.recorded, 0.5, '< 3.0'),
    row('enqueue → recorded', seen.recorded, 0.99),
    row('enqueue → client told', seen.told, 0.5),
  ];
}

/** Spawn of a worker on a queue with one task → that task's end is recorded, in ms. */
export async function firstDone(bench: Bench, run: number | string): Promise<number> {
  const pool = `first-${run}`;
  const made = await bench.call<View>('POST', '/tasks', noop(0, pool));
  const spawned = wall();
  const worker = await bench.worker(1, pool, [], ['--pool', pool]);
  const { at } = await event(bench, made.id, 'succeeded');
  await worker.stop();
  return Date.parse(at) + 0.5 - spawned;
}

/** kill -9 of a worker in the middle of a task, and a restart: how soon is the task told as lost, and running again? */
export async function afterKill(bench: Bench, runs: number): Promise<Row[]> {
  const lost: number[] = [];
  const again: number[] = [];
  for (let i = 0; i < runs; i++) {
    const pool = `kill-${i}`;
    const first = await bench.worker(1, pool, [], ['--pool', pool]);
    const made = await bench.call<View>('POST', '/tasks', { ...noop(i, pool), type: 'bench/hold' });
    await event(bench, made.id, 'started');
    await first.kill();
    const restarted = wall();
    const second = await bench.worker(1, pool, [], ['--pool', pool]);
    lost.push(Date.parse((await event(bench, made.id, 'lost')).at) - restarted);
    await event(bench, made.id, 'succeeded');
    const done = await bench.call<View>('GET', `/tasks/${made.id}`);
    again.push((done.result?.begunAt ?? Number.NaN) - restarted);
    await second.stop();
  }
  return [
    {
      what: 'kill -9 of a busy worker: restart → the task is told as lost',
      value: median(lost),
      unit: 'ms',
    },
    {
      what: 'kill -9 of a busy worker: restart → its next attempt runs',
      value: median(again),
      unit: 'ms',
      aim: '< 1000',
    },
  ];
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
