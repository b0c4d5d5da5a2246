/**
 * `npm run bench [-- --quick] [--only word] [--json file] [--binary executable] [--compare]`: what the main job costs, with
 * separate processes over loopback HTTP and durability on. Prints a table. `--compare` measures other queues beside it.
 */
import { writeFileSync } from 'node:fs';
import { cpus, totalmem, type } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { carrier } from './carrier.ts';
import { compare } from './compare.ts';
import { drain } from './drain.ts';
import { enqueueBatch, enqueueSingle } from './enqueue.ts';
import { ofExecutable } from './executable.ts';
import { afterKill, latency } from './latency.ts';
import { idle, workerStart } from './measures.ts';
import { Bench } from './processes.ts';
import { rawFiles, rawGroups, rawHttp, rawIpc } from './raw.ts';
import { type Measure, print, type Row } from './rows.ts';
import { ofScript } from './script.ts';
import { spoolRates } from './spool.ts';
import { firstTask } from './start.ts';
import { idleStreams } from './streams.ts';
import { byProcesses, bySdk, bySharedHosts, type Way } from './ways.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    json: { type: 'string' },
    binary: { type: 'string' },
    compare: { type: 'boolean', default: false },
  },
});
const { quick } = values;
const n = (count: number) => Math.max(100, Math.round((count * (quick ? 0.1 : 1)) / 100) * 100);
const times = quick ? 1 : 3;

/** The rows of `npm run bench`, in their order. */
function ofProject(bench: Bench): Measure[] {
  return [
    { name: 'raw http', run: () => rawHttp(n(50_000)) },
    { name: 'raw groups', run: async () => rawGroups(bench.folder, n(5_000)) },
    { name: 'raw files', run: async () => rawFiles(bench.folder, n(2_000)) },
    { name: 'raw ipc', run: () => rawIpc(n(100_000)) },
    { name: 'start claim', run: () => workerStart(bench, quick ? 3 : 11) },
    { name: 'start first task', run: () => firstTask(bench, quick ? 3 : 11) },
    { name: 'kill', run: () => afterKill(bench, quick ? 3 : 7) },
    { name: 'streams', run: () => idleStreams(bench, 1_000, quick ? 5 : 30) },
    { name: 'enqueue single', run: () => enqueueSingle(bench, n(20_000), times) },
    { name: 'enqueue batch', run: () => enqueueBatch(bench, n(40_000), times) },
    ...drains(bench),
    { name: 'carrier', run: () => carrier(n(20_000)) },
    { name: 'store', run: () => ofScript('store.ts', quick) },
    { name: 'spool', run: () => spool(times) },
    { name: 'latency', run: () => latency(bench, quick ? 50 : 500) },
    { name: 'idle', run: () => idle(bench, quick ? 5 : 30) },
  ];
}

/** A full queue by each way to run handlers. */
function drains(bench: Bench): Measure[] {
  const one = (name: string, aim: string, way: Way): Measure => ({
    name,
    run: () => drain(bench, way, { most: n(20_000), times, aim }),
  });
  return [
    one('drain 1', '> 1,600', byProcesses(bench, 1)),
    one('drain 16', '> 8,400', byProcesses(bench, 16)),
    one('drain shared 16', '> 18,500', bySharedHosts(bench, 16)),
    one('drain sdk 16', '> 18,500', bySdk(bench, 16)),
  ];
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
const binary = values.binary && resolve(values.binary);
const bench = new Bench(binary);
let kept: unknown;
try {
  await bench.open();
  console.log(machine);
  if (values.compare) {
    kept = await compare(bench, { quick, ...(values.only && { only: values.only }) });
  } else {
    console.log(
      `bench ${process.pid}, control plane ${bench.controlPlane.pid} (SQLite, every commit synced), each worker and handler host its own process\n`,
    );
    const rows: Row[] = [];
    const all: Measure[] = binary
      ? ofExecutable(bench, quick).map((run, i) => ({ name: `executable ${i}`, run }))
      : ofProject(bench);
    for (const measure of all.filter(({ name }) => name.includes(values.only ?? ''))) {
      // One that fails is told; the others are measured all the same.
      const seen = await measure.run().catch((error: Error) => {
        console.error(`${measure.name}: ${error.message}`);
        process.exitCode = 1;
        return [];
      });
      for (const row of [seen].flat()) {
        rows.push(row);
        print(row);
      }
    }
    kept = rows;
  }
  if (values.json)
    writeFileSync(
      values.json,
      `${JSON.stringify({ machine, at: new Date().toISOString(), rows: kept }, null, 2)}\n`,
    );
} finally {
  await bench.close();
}
