import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { idle, percentile, type Row, workerStart } from './measures.ts';
import type { ROWS } from './options.ts';
import type { Bench } from './processes.ts';
import type { Measure } from './rows.ts';
import { medianOf } from './rows.ts';

/** What the standalone executable costs: `bench.program` is its path. */
export function ofExecutable(
  bench: Bench,
  quick: boolean,
): Record<(typeof ROWS.executable)[number], Measure['run']> {
  const runs = quick ? 5 : 15;
  // Compiled code is kept in the state folder: an empty one for each start, or the same for all.
  const state = () => ({ XDG_STATE_HOME: mkdtempSync(join(bench.folder, 'state-')) });
  const kept = state();
  return {
    version: async () => versionTime(bench, quick ? 11 : 41),
    'start first': async () =>
      named('first start ever', '< 250', await workerStart(bench, runs, state)),
    'start later': async () =>
      named('later start', '< 250', await workerStart(bench, runs, () => kept)),
    idle: async () => {
      const [memory, ...rest] = await idle(bench, quick);
      return [{ ...(memory as Row), aim: '< 70' }, ...rest];
    },
  };
}

function versionTime(bench: Bench, runs: number): Row {
  const times = Array.from({ length: runs }, () => {
    const from = performance.now();
    const { status } = spawnSync(bench.program, ['--version'], { stdio: 'ignore' });
    if (status !== 0) throw new Error(`${bench.program} --version ended with ${status}`);
    return performance.now() - from;
  });
  return {
    what: `--version (${medianOf(runs)})`,
    value: percentile(times, 0.5),
    unit: 'ms',
    aim: '< 40',
  };
}

function named(what: string, aim: string, row: Row): Row {
  return { ...row, what: `${row.what}, ${what}`, aim };
}
