import { type Bench, inFlight } from './processes.ts';
import { type Row, rounds } from './rows.ts';

export const noop = (i: number, pool = 'default', type = 'bench/noop') => ({
  type,
  schemaVersion: 1,
  input: { i },
  pool,
});

/** Tasks a second, each a call of its own. */
export async function singleRate(bench: Bench, count: number): Promise<number> {
  const ms = await inFlight(count, 16, (i) => bench.call('POST', '/tasks', noop(i, 'parked')));
  return (count / ms) * 1000;
}

/** Tasks a second in calls of 100. */
export async function batchRate(bench: Bench, count: number): Promise<number> {
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

export async function enqueueSingle(bench: Bench, count: number, times = 3): Promise<Row> {
  await singleRate(bench, Math.ceil(count / 5)); // both processes warm up
  return {
    what: `enqueue, one by one, 16 in flight (median of ${times})`,
    value: await rounds(times, () => singleRate(bench, count)),
    unit: 'tasks/s',
    aim: '> 13,200',
  };
}

export async function enqueueBatch(bench: Bench, count: number, times = 3): Promise<Row> {
  await batchRate(bench, Math.ceil(count / 5));
  return {
    what: `enqueue, batches of 100, 4 in flight (median of ${times})`,
    value: await rounds(times, () => batchRate(bench, count)),
    unit: 'tasks/s',
    aim: '> 39,000',
  };
}
