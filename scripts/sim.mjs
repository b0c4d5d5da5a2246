/**
 * Runs the simulator: bundles `sim/run.ts` once and starts it, with `--runs` once per core, each with every n-th seed.
 * Options: `npm run sim -- --help`; `--counts FILE` leaves the numbers of seeds that passed and failed. A failing run prints the commit, its seed and how to repeat it.
 */
import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { bundleSimulator } from './sim-bundle.mjs';

const root = join(import.meta.dirname, '..');
const outfile = await bundleSimulator(root, 'run', { sourcemap: 'inline' });

const given = process.argv.slice(2);
const { values } = parseArgs({
  args: given,
  strict: false,
  options: {
    runs: { type: 'string' },
    from: { type: 'string', default: '1' },
    jobs: { type: 'string' },
    json: { type: 'boolean' },
    world: { type: 'string' },
    store: { type: 'string' },
    faults: { type: 'string' },
    counts: { type: 'string' },
    'no-shrink': { type: 'boolean' },
  },
});
const runs = Number(values.runs ?? 1);
const whole = Number.isSafeInteger(runs) && runs > 0;
process.exitCode = await (whole && runs > 1 && !values.json ? many() : one(given));

function one(args) {
  const child = spawn(process.execPath, ['--enable-source-maps', outfile, ...args], {
    stdio: 'inherit',
  });
  return new Promise((resolve) => child.on('close', (code) => resolve(code ?? 1)));
}

/** Many seeds on all cores; a table at the end, and each failure once more, alone and in words. */
async function many() {
  const jobs = Math.min(runs, Number(values.jobs ?? availableParallelism()));
  const began = Date.now();
  let wrongUse = false;
  const totals = new Map();
  const failures = [];
  await Promise.all(
    Array.from({ length: jobs }, (_, i) => {
      const from = Number(values.from) + i;
      const mine = Math.ceil((runs - i) / jobs);
      const args = [
        ...['--from', from, '--runs', mine, '--every', jobs, '--json'].map(String),
        ...(values.world ? ['--world', values.world] : []),
        ...(values.store ? ['--store', values.store] : []),
        ...(values.faults ? ['--faults', values.faults] : []),
      ];
      const child = spawn(process.execPath, ['--enable-source-maps', outfile, ...args], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      createInterface({ input: child.stdout }).on('line', (line) => {
        const run = JSON.parse(line);
        const sum = totals.get(run.world) ?? {
          runs: 0,
          steps: 0,
          ms: 0,
          tasks: 0,
          handlers: 0,
          faults: 0,
          failed: 0,
        };
        sum.runs++;
        sum.steps += run.steps;
        sum.ms += run.simulatedMs;
        sum.tasks += run.tasks;
        sum.handlers += run.attempts;
        for (const n of Object.values(run.struck)) sum.faults += n;
        if (run.violations.length > 0) {
          sum.failed++;
          failures.push(run);
        }
        totals.set(run.world, sum);
      });
      return new Promise((resolve) =>
        child.on('close', (code, signal) => {
          // It has said what is wrong.
          if (code === 64) wrongUse = true;
          else if (signal !== null || (code !== 0 && code !== 1))
            failures.push({ died: `${code ?? signal}` });
          resolve();
        }),
      );
    }),
  );
  if (wrongUse) return 64;
  console.log('world          runs    steps  simulated h   tasks  handlers   faults  failed');
  for (const [world, s] of [...totals].sort())
    console.log(
      `${world.padEnd(12)}${String(s.runs).padStart(7)}${String(s.steps).padStart(9)}${(s.ms / 3_600_000).toFixed(1).padStart(13)}${String(s.tasks).padStart(8)}${String(s.handlers).padStart(10)}${String(s.faults).padStart(9)}${String(s.failed).padStart(8)}`,
    );
  const done = [...totals.values()].reduce((sum, s) => sum + s.runs, 0);
  if (failures.length > 0) console.log(`\nCommit ${commit()}:`);
  for (const { died, seed, world, store } of failures.slice(0, 5)) {
    if (died) console.log(`✗ A process of the simulator ended with ${died}.`);
    else
      await one([
        ...['--seed', String(seed), '--world', world, '--store', store],
        ...(values.faults ? ['--faults', values.faults] : []),
        ...(values['no-shrink'] ? ['--no-shrink'] : []),
      ]);
  }
  if (failures.length > 5)
    console.log(
      `… and ${failures.length - 5} more, seeds ${failures
        .slice(5, 50)
        .map(({ seed }) => seed)
        .join(', ')}`,
    );
  const short = done < runs;
  if (values.counts)
    writeFileSync(
      values.counts,
      JSON.stringify({ passed: done - failures.length, failed: failures.length + (short ? 1 : 0) }),
    );
  console.log(
    `${done} of ${runs} seeds in ${Math.round((Date.now() - began) / 1000)} s on ${jobs} cores, ${failures.length} failed`,
  );
  return failures.length > 0 || short ? 1 : 0;
}

function commit() {
  try {
    const dirty = execFileSync('git', ['status', '--porcelain'], { cwd: root }).length > 0;
    return `${execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root }).toString().trim()}${dirty ? ' and changes that are not committed' : ''}`;
  } catch {
    return 'unknown';
  }
}
