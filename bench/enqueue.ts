import { type Bench, cpuMs, inFlight } from './processes.ts';
import { medianOf, type Row, rounds } from './rows.ts';

export const noop = (i: number, pool = 'default', type = 'bench/noop') => ({
  type,
  schemaVersion: 1,
  input: { i },
  pool,
});

/** Tasks a second by `submit` of the SDK, as programs use it: what is submitted together may go together. */
export async function singleRate(bench: Bench, count: number): Promise<number> {
  const producer = await bench.producer();
  const ms = await inFlight(count, 16, (i) =>
    producer.submit('bench/noop', 1, { i }, { pool: 'parked' }),
  );
  return (count / ms) * 1000;
}

/** Tasks a second, each a bare HTTP call of its own by undici's pool of 16 connections. */
export async function callRate(bench: Bench, count: number): Promise<number> {
  const ms = await inFlight(count, 16, (i) => bench.call('POST', '/tasks', noop(i, 'parked')));
  return (count / ms) * 1000;
}

/** Tasks a second by `submitMany` of the SDK, 100 each. */
export async function batchRate(bench: Bench, count: number): Promise<number> {
  const producer = await bench.producer();
  const ms = await inFlight(Math.ceil(count / 100), 4, async (batch) => {
    const from = batch * 100;
    const some = Array.from({ length: Math.min(100, count - from) }, (_, k) =>
      noop(from + k, 'parked'),
    );
    const seen = await producer.submitMany(some);
    if (!seen.every(({ ok }) => ok)) throw new Error('a submission was refused');
  });
  return (count / ms) * 1000;
}

/** Tasks a second in bare HTTP calls of 100. */
export async function bareBatchRate(bench: Bench, count: number): Promise<number> {
  return (count / (await fill(bench, 'parked', count))) * 1000;
}

/** Puts tasks on a pool's queue. Returns how long it took. */
export async function fill(
  bench: Bench,
  pool: string,
  count: number,
  type?: string,
): Promise<number> {
  const size = 100;
  return inFlight(Math.ceil(count / size), 4, (batch) =>
    bench.call(
      'POST',
      '/tasks/batch',
      Array.from({ length: Math.min(size, count - batch * size) }, (_, k) =>
        noop(batch * size + k, pool, type),
      ),
    ),
  );
}

export function enqueueSingle(bench: Bench, count: number, times = 3): Promise<Row[]> {
  return both(bench, count, times, [
    ['one by one, 16 in flight: TaskProducer.submit', singleRate, '> 13,200'],
    ['one by one, 16 in flight: one HTTP call each', callRate],
  ]);
}

export function enqueueBatch(bench: Bench, count: number, times = 3): Promise<Row[]> {
  return both(bench, count, times, [
    ['batches of 100, 4 in flight: TaskProducer.submitMany', batchRate, '> 39,000'],
    ['batches of 100, 4 in flight: one HTTP call each', bareBatchRate],
  ]);
}

type Rate = (bench: Bench, count: number) => Promise<number>;

/** By the SDK and by bare calls, each with what a task costs both processes. */
async function both(
  bench: Bench,
  count: number,
  times: number,
  ways: readonly (readonly [what: string, rate: Rate, aim?: string])[],
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [what, rate, aim] of ways) {
    await rate(bench, Math.ceil(count / 5)); // both processes warm up
    const used = () => [cpuMs(process.pid) ?? 0, cpuMs(bench.controlPlane.pid) ?? 0] as const;
    const before = used();
    const value = await rounds(times, () => rate(bench, count));
    const [client, plane] = used().map((ms, i) => ((ms - (before[i] ?? 0)) * 1000) / count / times);
    rows.push({
      what: `enqueue, ${what} (${medianOf(times)})`,
      value,
      unit: 'tasks/s',
      ...(aim !== undefined && { aim }),
      note: `processor µs each: client ${client?.toFixed(0)}, control plane ${plane?.toFixed(0)}`,
    });
  }
  return rows;
}
