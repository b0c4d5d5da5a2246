/**
 * `npm run bench [-- --quick] [--json file] [--binary executable]`: what the main job costs, with separate processes over loopback HTTP and
 * durability on. Prints a table; figures of one quiet run, so repeat it and compare medians.
 */
import { writeFileSync } from 'node:fs';
import { cpus, totalmem, type } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ofExecutable } from './executable.ts';
import {
  afterKill,
  drain,
  enqueueBatch,
  enqueueSingle,
  fsyncs,
  idle,
  latency,
  type Row,
  workerStart,
} from './measures.ts';
import { Bench } from './processes.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    binary: { type: 'string' },
  },
});
const share = values.quick ? 0.1 : 1;
const n = (count: number) => Math.max(100, Math.round((count * share) / 100) * 100);

const binary = values.binary && resolve(values.binary);
const bench = new Bench(binary);
const rows: Row[] = [];
try {
  await bench.open();
  const machine = `${type()}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;
  console.log(machine);
  console.log(
    `bench ${process.pid}, control plane ${bench.controlPlane.pid} (SQLite, WAL, PRAGMA synchronous=FULL), each worker and handler host its own process\n`,
  );
  const all = [
    () => workerStart(bench, values.quick ? 3 : 11),
    () => afterKill(bench, values.quick ? 3 : 7),
    () => enqueueSingle(bench, n(10_000)),
    () => enqueueBatch(bench, n(20_000)),
    () => drain(bench, 1, n(2_000)),
    () => drain(bench, 16, n(10_000)),
    () => latency(bench, values.quick ? 30 : 300),
    () => fsyncs(bench, 1, n(1_000)),
    () => fsyncs(bench, 16, n(1_000)),
    () => idle(bench, values.quick ? 5 : 30),
  ];
  for (const measure of binary ? ofExecutable(bench, values.quick) : all) {
    for (const row of [await measure()].flat()) {
      rows.push(row);
      const value = row.value.toFixed(row.value >= 100 ? 0 : 2);
      console.log(
        `${row.what.padEnd(86)} ${value.padStart(9)} ${row.unit.padEnd(8)}${row.aim ? ` aim ${row.aim}` : ''}`,
      );
    }
  }
  if (values.json)
    writeFileSync(
      values.json,
      `${JSON.stringify({ machine, at: new Date().toISOString(), rows }, null, 2)}\n`,
    );
} finally {
  await bench.close();
}
