import { type Contender, type Idle, ours, oursBy } from './contender.ts';
import { endsBySignal } from './ending.ts';
import type { ROWS } from './options.ts';
import { install, peer, versions } from './peer.ts';
import type { Bench } from './processes.ts';
import { rawFiles, rawGroups, rawHttp, rawIpc } from './raw.ts';
import { median, percentile, print, shown } from './rows.ts';
import { postgres, redis, type Server } from './servers.ts';
import { bySdk, bySharedHosts } from './ways.ts';

/** One line of the comparison, in numbers: a median for each contender, and ours divided by theirs. */
export interface Compared {
  readonly what: string;
  readonly unit: string;
  readonly values: Record<string, number>;
}

type Seen = Record<string, number[]>;

interface Line {
  readonly name: (typeof ROWS.compare)[number];
  readonly rows: readonly (readonly [what: string, unit: string])[];
  /** One figure for each of `rows`; undefined where the contender has none. */
  measure(one: Contender, round: number): Promise<readonly number[] | undefined>;
}

const BATCH = 500;

/** The same work, in turns on the same machine: A B C, A B C, and the medians. */
export async function compare(
  bench: Bench,
  { quick, chosen }: { quick: boolean; chosen: readonly string[] },
): Promise<{ settings: Record<string, string>; rows: Compared[] }> {
  install();
  const servers: Server[] = [];
  const contenders: Contender[] = [
    ours(bench),
    oursBy(bench, 'ours, shared hosts', 'the same, handlers share processes', (concurrency) =>
      bySharedHosts(bench, concurrency),
    ),
    oursBy(
      bench,
      'ours, SDK inline',
      "the same, handlers in the program's own thread",
      (concurrency) => bySdk(bench, concurrency),
    ),
  ];
  try {
    const [forRedis, forPostgres] = [await redis(), await postgres()];
    for (const server of [forRedis, forPostgres]) {
      if (typeof server === 'string') console.log(server);
      else servers.push(server);
    }
    if (typeof forRedis !== 'string') contenders.push(await onRedis(forRedis));
    if (typeof forPostgres !== 'string') contenders.push(...(await onPostgres(forPostgres)));
    console.log(
      '\nThe same no-op tasks with a small JSON input; workers and clients are processes of their own, all on loopback.',
    );
    for (const { name, settings } of contenders) console.log(`  ${name}: ${settings}`);
    console.log(
      "  → recorded: ours when the client's long poll is answered, theirs when their worker has the database's answer\n",
    );
    for (const row of [
      await rawHttp(quick ? 5_000 : 50_000),
      rawGroups(bench.folder, quick ? 500 : 5_000),
      rawFiles(bench.folder, quick ? 200 : 2_000),
      await rawIpc(quick ? 10_000 : 100_000),
    ])
      print(row);
    head(contenders);
    const rows: Compared[] = [];
    for (const line of lines(quick).filter(({ name }) => chosen.includes(name)))
      for (const row of await inTurns(line, contenders, quick ? 1 : 3)) {
        rows.push(row);
        tell(row, contenders);
      }
    return {
      settings: Object.fromEntries(contenders.map((one) => [one.name, one.settings])),
      rows,
    };
  } finally {
    for (const one of [...contenders, ...servers.map((server) => ({ close: () => server.stop() }))])
      await one.close().catch((error) => console.error(error));
  }
}

async function onRedis(server: Server): Promise<Contender> {
  const { bullmq, ioredis } = versions();
  return peer(
    'bullmq',
    'BullMQ',
    `bullmq ${bullmq}, ioredis ${ioredis}, ${server.version} with appendonly yes, appendfsync always; raw socket, one connection for calls; handlers in the worker's process; ended jobs are kept`,
    server,
  );
}

async function onPostgres(server: Server): Promise<Contender[]> {
  const { 'graphile-worker': graphile, 'pg-boss': boss, pg } = versions();
  const base = `pg ${pg}, ${server.version} with its defaults (fsync=on, synchronous_commit=on); raw sockets, as many as concurrency + 2 for the worker, 16 for the client; handlers in the worker's process`;
  return [
    await peer(
      'graphile-worker',
      'graphile-worker',
      `graphile-worker ${graphile}, ${base}; ended jobs are deleted`,
      server,
    ),
    await peer(
      'graphile-worker',
      `graphile, local ${BATCH}`,
      `the same with localQueue.size ${BATCH} and completeJobBatchDelay 0: ${BATCH} jobs at once are locked and held in memory, ends are written in batches`,
      server,
      { local: BATCH },
    ),
    await peer(
      'pg-boss',
      `pg-boss, ${BATCH} a batch`,
      `pg-boss ${boss}, ${base}; each of its workers takes batchSize ${BATCH} (burstWhenBatchFull) and ends the whole batch by one statement; woken by LISTEN/NOTIFY; ended jobs are kept`,
      server,
      { batch: BATCH },
    ),
  ];
}

function lines(quick: boolean): Line[] {
  const [most, seconds] = quick ? [10_000, 2] : [60_000, 6];
  const rate = (
    name: Line['name'],
    what: string,
    once: (one: Contender, count: number) => Promise<number> | undefined,
  ): Line => {
    const counts = new Map<Contender, number>();
    return {
      name,
      rows: [[what, 'tasks/s']],
      measure: async (one) => {
        // Each does as much as takes it so long, by a first time that is not counted.
        if (!counts.has(one)) {
          const first = await once(one, quick ? 300 : 1_000);
          counts.set(
            one,
            Math.round(Math.min(most, Math.max(300, (first ?? 0) * seconds)) / 100) * 100,
          );
        }
        const value = await once(one, counts.get(one) as number);
        return value === undefined ? undefined : [value];
      },
    };
  };
  return [
    rate('drain 16', 'drain, concurrency 16', (one, count) => one.drain(16, count)),
    rate('drain 1', 'drain, concurrency 1', (one, count) => one.drain(1, count)),
    rate('enqueue single', 'enqueue, one by one, 16 in flight', (one, count) =>
      one.single?.(count),
    ),
    rate('enqueue bulk', 'enqueue, batches of 100, 4 in flight', (one, count) => one.bulk?.(count)),
    {
      name: 'latency',
      rows: [
        ['idle: enqueue → handler start, p50', 'ms'],
        ['idle: enqueue → handler start, p99', 'ms'],
        ['idle: enqueue → recorded, p50', 'ms'],
      ],
      measure: async (one) => {
        const seen = await one.latencies?.(quick ? 50 : 300);
        return (
          seen && [percentile(seen.start, 0.5), percentile(seen.start, 0.99), median(seen.recorded)]
        );
      },
    },
    {
      name: 'start',
      rows: [['spawn of a worker → first task recorded', 'ms']],
      measure: async (one, round) => one.firstDone && [await one.firstDone(round)],
    },
    {
      name: 'idle',
      rows: [
        ['idle worker: memory', 'MiB'],
        ['idle worker: processor time', 'ms/min'],
        ['its server: processor time', 'ms/min'],
      ],
      measure: async (one) => {
        const seen: Idle | undefined = await one.idle?.(quick ? 5 : 20);
        return seen && [seen.memory, seen.worker, seen.server];
      },
    },
  ];
}

async function inTurns(line: Line, contenders: Contender[], rounds: number): Promise<Compared[]> {
  const seen: Seen[] = line.rows.map(() => ({}));
  for (let round = 0; round < rounds; round++)
    for (const one of contenders) {
      const figures = await line.measure(one, round).catch((error: Error) => {
        if (endsBySignal()) return new Promise<never>(() => {});
        console.log(`${line.name}, ${one.name}: ${error.message}`);
        return undefined;
      });
      for (const [i, figure] of (figures ?? []).entries()) {
        const row = seen[i] as Seen;
        row[one.name] = [...(row[one.name] ?? []), figure];
      }
    }
  return line.rows.map(([what, unit], i) => ({
    what,
    unit,
    values: Object.fromEntries(
      Object.entries(seen[i] as Seen).map(([name, list]) => [name, median(list)]),
    ),
  }));
}

const WIDTH = 22;

function head(contenders: Contender[]): void {
  console.log(
    `\n${'median; in brackets ours divided by theirs'.padEnd(50)}${contenders.map(({ name }) => name.padStart(WIDTH)).join('')}`,
  );
}

function tell({ what, unit, values }: Compared, contenders: Contender[]): void {
  const [first = Number.NaN] = contenders.slice(0, 1).map(({ name }) => values[name] ?? Number.NaN);
  const cells = contenders.map(({ name }) => {
    const value = values[name] ?? Number.NaN;
    return `${shown(value)}${name.startsWith('ours') || Number.isNaN(first / value) ? '' : ` (${(first / value).toFixed(2)})`}`.padStart(
      WIDTH,
    );
  });
  console.log(`${`${what}, ${unit}`.padEnd(50)}${cells.join('')}`);
}
