import { percentile, type Row } from './measures.ts';
import { type Bench, cpuMs } from './processes.ts';

/** Spawn of an agent on a queue of one task → that task's end in the journal, by the control plane's clock; and the processor time that the agent took for it. */
export async function firstTask(bench: Bench, runs: number): Promise<Row[]> {
  const times: number[] = [];
  const used: number[] = [];
  for (let run = 0; run < runs; run++) {
    const pool = `first-${run}`;
    const { id } = await bench.call<{ id: string }>('POST', '/tasks', {
      ...{ type: 'bench/noop', schemaVersion: 1, input: { run }, pool },
    });
    const spawned = performance.timeOrigin + performance.now();
    const worker = await bench.worker(2, pool, [], ['--pool', pool]);
    const done = await finished(bench, id);
    used.push(cpuMs(worker.pid) ?? Number.NaN);
    // Instants of the contract are whole milliseconds.
    times.push(Date.parse(done) + 0.5 - spawned);
    await worker.stop();
  }
  return [
    {
      what: `worker: spawn → first task done (median of ${runs})`,
      value: percentile(times, 0.5),
      unit: 'ms',
      aim: '< 217',
    },
    { what: 'the same, the quickest', value: Math.min(...times), unit: 'ms' },
    {
      what: 'the same: processor time of the agent, without hosts',
      value: percentile(used, 0.5),
      unit: 'ms',
    },
  ];
}

/** Waits for its last entry. */
async function finished(bench: Bench, id: string): Promise<string> {
  for (let after = 0; ; ) {
    const { events } = await bench.call<{ events: { seq: number; kind: string; at: string }[] }>(
      'GET',
      `/tasks/${id}/events?after=${after}&waitMs=10000`,
    );
    const end = events.find(({ kind }) => kind === 'succeeded');
    if (end) return end.at;
    after = events.at(-1)?.seq ?? after;
  }
}
