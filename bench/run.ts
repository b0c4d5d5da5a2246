/**
 * `npm run bench` (`-- --help`): what the main job costs, with separate processes over loopback HTTP and durability on.
 * Prints a table.
 */
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem, type } from 'node:os';
import { carrier } from './carrier.ts';
import { compare } from './compare.ts';
import { drain } from './drain.ts';
import { cleanAtEnd, endsBySignal } from './ending.ts';
import { enqueueBatch, enqueueSingle } from './enqueue.ts';
import { ofExecutable } from './executable.ts';
import { afterKill, latency } from './latency.ts';
import { idle, workerStart } from './measures.ts';
import {
  type BenchOptions,
  EXIT_USAGE,
  HELP,
  type ROWS,
  readOptions,
  remarks,
  UsageError,
} from './options.ts';
import { pages } from './pages.ts';
import { Bench } from './processes.ts';
import { rawFiles, rawGroups, rawHttp, rawIpc } from './raw.ts';
import { type Measure, print, type Row } from './rows.ts';
import { ofScript } from './script.ts';
import { spoolRates } from './spool.ts';
import { firstTask } from './start.ts';
import { idleStreams } from './streams.ts';
import { byProcesses, bySdk, bySharedHosts, type Way } from './ways.ts';

const options = asked();
const { quick, binary, json, chosen } = options;
const n = (count: number) => Math.max(100, Math.round((count * (quick ? 0.1 : 1)) / 100) * 100);
const times = quick ? 1 : 3;

function asked(): BenchOptions {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options !== 'help') return options;
    console.log(HELP);
    process.exit(0);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`bench: ${error.message}`);
    process.exit(EXIT_USAGE);
  }
}

type Runs<Names extends readonly string[]> = Record<Names[number], Measure['run']>;

/** The rows of `npm run bench`. */
function ofProject(bench: Bench): Runs<typeof ROWS.project> {
  return {
    'raw http': () => rawHttp(n(50_000)),
    'raw groups': async () => rawGroups(bench.folder, n(5_000)),
    'raw files': async () => rawFiles(bench.folder, n(2_000)),
    'raw ipc': () => rawIpc(n(100_000)),
    'start claim': () => workerStart(bench, quick ? 3 : 11),
    'start first task': () => firstTask(bench, quick ? 3 : 11),
    kill: () => afterKill(bench, quick ? 3 : 7),
    streams: () => idleStreams(bench, 1_000, quick ? 5 : 30),
    'enqueue single': () => enqueueSingle(bench, n(20_000), times),
    'enqueue batch': () => enqueueBatch(bench, n(40_000), times),
    'drain 1': () => drained('> 1,600', byProcesses(bench, 1)),
    'drain 16': () => drained('> 8,400', byProcesses(bench, 16)),
    'drain shared 16': () => drained('> 18,500', bySharedHosts(bench, 16)),
    'drain sdk 16': () => drained('> 18,500', bySdk(bench, 16)),
    carrier: () => carrier(n(20_000)),
    store: () => ofScript('store.ts', quick),
    spool: () => spool(times),
    latency: () => latency(bench, quick ? 50 : 500),
    idle: () => idle(bench, quick),
    pages: () => pages(bench, n(50_000), quick ? 5 : 30),
  };
}

/** A full queue by one way to run handlers. */
function drained(aim: string, way: Way): Promise<Row | readonly Row[]> {
  return drain(bench, way, { most: n(60_000), times, aim });
}

/** A spool of its own beside the same disk with the same bytes, 16 records under way and one. */
async function spool(turns: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const inFlight of [16, 1]) {
    const seen = await spoolRates({ inFlight, turns, folder: bench.folder });
    const what = `spool: records of ${seen.recordBytes} bytes, ${inFlight} in flight`;
    rows.push(
      {
        what,
        value: seen.recordsPerSecond,
        unit: 'records/s',
        ...(inFlight === 16 && { aim: '> 20,000' }),
        note: `${seen.syncsPerRecord.toFixed(2)} syncs and ${seen.cpuUsPerRecord.toFixed(0)} processor µs each`,
      },
      { what: `${what}: raw group commits divided by it`, value: seen.ratio, unit: '', aim: '< 3' },
    );
  }
  return rows;
}

const machine = `${type()}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;
const busy = { load: loadavg()[0] ?? 0, cores: availableParallelism() };
cleanAtEnd();
const bench = new Bench(binary);
let kept: unknown;
try {
  await bench.open();
  console.log(machine);
  if (options.kind === 'compare') {
    kept = await compare(bench, { quick, chosen });
  } else {
    console.log(
      `bench ${process.pid}, control plane ${bench.controlPlane.pid} (SQLite, every commit synced), each worker and handler host its own process\n`,
    );
    const rows: Row[] = [];
    const runs = (binary ? ofExecutable(bench, quick) : ofProject(bench)) as Record<
      string,
      Measure['run']
    >;
    for (const name of chosen) {
      // One that fails is told; the others are measured all the same.
      const seen = await runs[name]?.().catch((error: Error) => {
        if (endsBySignal()) return new Promise<never>(() => {});
        console.error(`${name}: ${error.message}`);
        process.exitCode = 1;
        return [];
      });
      for (const row of [seen ?? []].flat()) {
        rows.push(row);
        print(row);
      }
    }
    kept = rows;
  }
  for (const [i, line] of remarks(options, busy).entries())
    console.log(`${i === 0 ? '\n' : ''}${line}`);
  if (json)
    writeFileSync(
      json,
      `${JSON.stringify({ machine, at: new Date().toISOString(), rows: kept }, null, 2)}\n`,
    );
} finally {
  await bench.close();
}
