/**
 * What handlers in processes of their own cost beside everything else: the carrier in this process, warm hosts, a
 * handler that does nothing. `node bench/carrier.ts [jobs]` prints it alone.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProcessCarrier } from '../src/carriers/process.ts';
import type { ProcessCarrier } from '../src/carriers/process-carrier.ts';
import type { Job, JobListener } from '../src/ports/carrier.ts';
import { systemClock } from '../src/system/clock.ts';
import { cpuMs, inFlight } from './processes.ts';
import { median, medianOf, print, type Row } from './rows.ts';

const root = join(import.meta.dirname, '..');
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const listener: JobListener = {
  begun: () => {},
  progress: () => {},
  log: () => {},
  effectRequested: () => {},
};

/** @param jobs for each number of hosts. */
export async function carrier(jobs: number): Promise<Row[]> {
  const cache = mkdtempSync(join(tmpdir(), 'interlock-carrier-'));
  try {
    // The first start fills the cache of compiled code.
    await withHosts(cache, 1, async () => {});
    return [
      ...(await starts(cache, 7)),
      ...(await warm(cache, 16, jobs)),
      ...(await warm(cache, 1, Math.ceil(jobs / 4))),
    ];
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
}

async function warm(cache: string, hosts: number, jobs: number): Promise<Row[]> {
  return withHosts(cache, hosts, async (job, pids) => {
    await inFlight(Math.min(1_000, jobs), hosts, job);
    const before = [cpuMs(process.pid), sum(pids)] as const;
    const ms = await inFlight(jobs, hosts, job);
    const agent = (cpuMs(process.pid) ?? 0) - (before[0] ?? 0);
    const perJob = (cpu: number) => (cpu * 1_000) / jobs;
    const what = hosts === 1 ? '1 warm host' : `${hosts} warm hosts`;
    const memory = [...pids].map(residentMiB);
    const rows: Row[] = [
      { what: `jobs, ${what}`, value: (jobs / ms) * 1_000, unit: 'jobs/s' },
      {
        what: `agent, processor time per job, ${what}`,
        value: perJob(agent),
        unit: 'µs',
        aim: '< 60',
      },
      {
        what: `host, processor time per job, ${what}`,
        value: perJob(sum(pids) - before[1]),
        unit: 'µs',
        aim: '< 60',
      },
      {
        what: `host, resident memory after ${jobs} jobs, ${what} (median)`,
        value: median(memory.map(({ all }) => all)),
        unit: 'MiB',
        aim: '< 45',
      },
      {
        what: `host, of it pages of its own: what one more host adds, ${what} (median)`,
        value: median(memory.map(({ own }) => own)),
        unit: 'MiB',
      },
      {
        what: `host, its own and its part of those that processes share (PSS), ${what} (median)`,
        value: median(memory.map(({ part }) => part)),
        unit: 'MiB',
      },
    ];
    return rows;
  });
}

/** From the start of a host's process to the end of its first job, with compiled code kept. */
async function starts(cache: string, runs: number): Promise<Row[]> {
  const wall: number[] = [];
  const cpu: number[] = [];
  for (let run = 0; run < runs; run++) {
    const from = performance.now();
    await withHosts(cache, 1, async (_job, pids) => {
      wall.push(performance.now() - from);
      cpu.push(sum(pids));
    });
  }
  return [
    {
      what: `host, start to its first job done (${medianOf(runs)})`,
      value: median(wall),
      unit: 'ms',
    },
    {
      what: `host, processor time of that (${medianOf(runs)})`,
      value: median(cpu),
      unit: 'ms',
    },
  ];
}

type RunJob = (i: number) => Promise<void>;

/** Each host has had one job when `measure` is called. */
async function withHosts<T>(
  cache: string,
  hosts: number,
  measure: (job: RunJob, pids: ReadonlySet<number>) => Promise<T>,
): Promise<T> {
  const carrier: ProcessCarrier = createProcessCarrier({
    clock: systemClock(),
    log: silent,
    hostCommand: {
      execPath: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', join(root, 'dist/host.js')],
    },
    maxHosts: hosts,
    marker: `bench-${process.pid}`,
    env: { PATH: process.env.PATH },
    compileCache: cache,
    callsPerHost: Number.POSITIVE_INFINITY,
  });
  const pids = new Set<number>();
  try {
    // Of several none ends before all have begun, so that none of them waits for the host of another.
    const goOn = join(cache, `go-on-${hosts}`);
    const after = hosts === 1 ? {} : { after: goOn };
    let begun = 0;
    const counting = {
      ...listener,
      begun: () => {
        begun++;
        if (begun === hosts) writeFileSync(goOn, '');
      },
    };
    await Promise.all(
      Array.from({ length: hosts }, async (_, i) => {
        const running = carrier.start({ ...aJob(i), input: after }, counting);
        await running.ended;
        if (running.pid !== undefined) pids.add(running.pid);
      }),
    );
    if (pids.size !== hosts) throw new Error(`${pids.size} of ${hosts} hosts took a job`);
    return await measure(async (i) => {
      const end = await carrier.start(aJob(i), listener).ended;
      if (end.how !== 'returned') throw new Error(JSON.stringify(end));
    }, pids);
  } finally {
    await carrier.close();
  }
}

function aJob(i: number): Job {
  return {
    taskId: `tsk_${i}`,
    attemptId: `att_${i}`,
    attempt: 1,
    fence: 1,
    type: 'bench/noop',
    schemaVersion: 1,
    effectKey: `tsk_${i}`,
    effectSafety: 'pure',
    effectGate: 'start',
    labels: {},
    input: { i },
    file: join(root, 'bench/carrier-handler.mjs'),
  };
}

function sum(pids: Iterable<number>): number {
  return [...pids].reduce((all, pid) => all + (cpuMs(pid) ?? 0), 0);
}

function residentMiB(pid: number): { all: number; own: number; part: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const of = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1]) / 1_024;
  return { all: of('Rss'), own: of('Private_Clean') + of('Private_Dirty'), part: of('Pss') };
}

if (process.argv[1] === import.meta.filename)
  for (const row of await carrier(Number(process.argv[2] ?? 20_000))) print(row);
