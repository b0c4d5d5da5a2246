import { constants, fdatasync, mkdtempSync, openSync, rmSync, unlinkSync, write } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Disk, OpenFile } from '../src/ports/disk.ts';
import { openSpool } from '../src/spool/index.ts';
import { systemClock } from '../src/system/clock.ts';
import { systemDisk } from '../src/system/disk.ts';
import { systemFolderLock } from '../src/system/folder-lock.ts';
import { systemLog } from '../src/system/log.ts';
import { systemProcessInfo } from '../src/system/process-info.ts';

/**
 * How many reports a second an open spool makes durable while so many are under way, beside what the same disk does with the
 * same bytes and nothing else: one `write` and one `fdatasync` for as many records as are under way. In turns of a second
 * or so, since a disk is not the same from one moment to the next; what counts is the ratio.
 */
export interface SpoolRates {
  readonly inFlight: number;
  readonly recordBytes: number;
  readonly recordsPerSecond: number;
  readonly rawPerSecond: number;
  /** Raw over ours: 1 is as fast as the disk. */
  readonly ratio: number;
  /** Calls of the disk (open, write, sync, unlink) for a record, in all and syncs alone. */
  readonly callsPerRecord: number;
  readonly syncsPerRecord: number;
  /** Of this process, all threads, for a record. */
  readonly cpuUsPerRecord: number;
}

export async function spoolRates({
  inFlight = 16,
  turns = 3,
  turnMs = 1_000,
  folder = tmpdir(),
} = {}): Promise<SpoolRates> {
  const home = mkdtempSync(join(folder, 'interlock-bench-spool-'));
  const counts = { calls: 0, syncs: 0 };
  const opened = await openSpool({
    disk: counted(counts),
    clock: systemClock(),
    log: systemLog({ level: 'error', format: 'json' }),
    lock: systemFolderLock(),
    processInfo: await systemProcessInfo(),
    folder: join(home, 'spool'),
    workerId: 'bench',
    sessionId: 'ses_bench',
    serviceUrl: 'http://127.0.0.1:7420',
  });
  if (!opened.ok) throw opened.error;
  const { spool } = opened;
  const meta = { type: 'bench/noop', schemaVersion: 1, project: 'default' };
  let n = 0;
  let bytes = 0;
  /** A report, and its answer in a while, as from a control plane: a record takes all of its way. */
  const one = async (): Promise<void> => {
    const id = `${(++n).toString(36).padStart(10, '0')}bench0000000000`;
    const four = { taskId: `tsk_${id}`, attemptId: `att_${id}`, fence: 1, leaseToken: `lt_${id}` };
    const written = await spool.writeReport({ op: 'complete', ...four, result: { n } }, meta);
    bytes = written.bytes;
    void spool.answered(written);
  };
  const raw = rawFile(join(home, 'raw'));
  const total = { ours: 0, oursMs: 0, raw: 0, rawMs: 0, cpuUs: 0 };
  await Promise.all(Array.from({ length: inFlight }, one));
  for (let turn = 0; turn < turns; turn++) {
    const cpu = process.cpuUsage();
    const ours = await during(turnMs, inFlight, one);
    const used = process.cpuUsage(cpu);
    total.ours += ours.count;
    total.oursMs += ours.ms;
    total.cpuUs += used.user + used.system;
    const group = Buffer.alloc(inFlight * bytes, 'x');
    const groups = await during(turnMs, 1, () => raw(group));
    total.raw += groups.count * inFlight;
    total.rawMs += groups.ms;
  }
  await spool.close();
  rmSync(home, { recursive: true });
  const recordsPerSecond = (total.ours / total.oursMs) * 1_000;
  const rawPerSecond = (total.raw / total.rawMs) * 1_000;
  return {
    inFlight,
    recordBytes: bytes,
    recordsPerSecond,
    rawPerSecond,
    ratio: rawPerSecond / recordsPerSecond,
    callsPerRecord: counts.calls / n,
    syncsPerRecord: counts.syncs / n,
    cpuUsPerRecord: total.cpuUs / total.ours,
  };
}

async function during(ms: number, inFlight: number, work: () => Promise<unknown>) {
  const from = performance.now();
  let count = 0;
  const loop = async () => {
    while (performance.now() - from < ms) {
      await work();
      count++;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  return { count, ms: performance.now() - from };
}

function rawFile(path: string): (group: Buffer) => Promise<void> {
  const { O_APPEND, O_CREAT, O_WRONLY } = constants;
  const fd = openSync(path, O_APPEND | O_CREAT | O_WRONLY, 0o600);
  unlinkSync(path);
  return (group) =>
    new Promise((resolve, reject) => {
      write(fd, group, 0, group.length, null, (failed) => {
        if (failed) reject(failed);
        else fdatasync(fd, (error) => (error ? reject(error) : resolve()));
      });
    });
}

/** A write beside, with its rename, counts as the six calls that it is. */
function counted(counts: { calls: number; syncs: number }): Disk {
  const disk = systemDisk();
  const count = <T>(made: T, calls: number, syncs = 0): T => {
    counts.calls += calls;
    counts.syncs += syncs;
    return made;
  };
  const file = (made: OpenFile): OpenFile => ({
    add: (data) => count(made.add(data), 1),
    // It asks after the name, too.
    sync: () => count(made.sync(), 2, 1),
    close: () => count(made.close(), 1),
  });
  return {
    ...disk,
    makeOpen: async (path) => count(file(await disk.makeOpen(path)), 1),
    writeFile: (path, data) => count(disk.writeFile(path, data), 6, 1),
    takeRoom: (path, bytes) => count(disk.takeRoom(path, bytes), 6, 1),
    appendFile: (path, data) => count(disk.appendFile(path, data), 3),
    syncFolder: (path) => count(disk.syncFolder(path), 3, 1),
    remove: (path) => count(disk.remove(path), 1),
  };
}

if (import.meta.main) {
  const rates = await spoolRates({ folder: process.argv[2] ?? tmpdir() });
  for (const [name, value] of Object.entries(rates))
    console.log(`${name.padEnd(18)} ${Number(value.toPrecision(4))}`);
}
