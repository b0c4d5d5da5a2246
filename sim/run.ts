/**
 * `npm run sim`: plays worlds from seeds and prints what broke. One process of `scripts/sim.mjs`'s; `--json` prints a
 * line for each run instead of words.
 */
import { parseArgs } from 'node:util';
import { checkers } from './checkers/index.ts';
import { failureInWords, smallerInWords } from './failure-words.ts';
import { FAULTS, type FaultName, faultNames, noFaults } from './faults.ts';
import { Life } from './life.ts';
import { shrink } from './shrink.ts';
import { type Outcome, type SimulationOptions, simulate } from './simulation.ts';
import { worlds } from './worlds/index.ts';

/** What was asked for cannot be done; no bug. */
class UsageError extends Error {}

const { values } = parsed({
  options: {
    seed: { type: 'string' },
    world: { type: 'string' },
    steps: { type: 'string' },
    tasks: { type: 'string' },
    store: { type: 'string', default: 'memory' },
    faults: { type: 'string' },
    runs: { type: 'string', default: '1' },
    from: { type: 'string', default: '1' },
    every: { type: 'string', default: '1' },
    story: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: true },
    'no-shrink': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

try {
  if (values.help) help();
  else if (values.list) list();
  else process.exitCode = await run();
} catch (error) {
  // A world that is not there is a RangeError.
  if (!(error instanceof UsageError || error instanceof RangeError)) throw error;
  wrongUse(error.message);
}

function wrongUse(why: string): void {
  process.stderr.write(`error  ${why}\nnext   npm run sim -- --help\n`);
  process.exitCode = 64;
}

function parsed<T extends Parameters<typeof parseArgs>[0] & object>(
  options: T,
): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(options);
  } catch (error) {
    wrongUse((error as Error).message);
    process.exit();
  }
}

async function run(): Promise<number> {
  Life.traces = values.story;
  const every = whole('every', values.every);
  const runs = whole('runs', values.runs);
  if (runs === 0) throw new UsageError('--runs 0: at least one');
  const first = values.seed === undefined ? whole('from', values.from) : whole('seed', values.seed);
  const names = values.world?.split(',') ?? worlds.map(({ name }) => name);
  let failed = 0;
  for (let seed = first; seed < first + runs * every; seed += every) {
    // The seed chooses one of the worlds, so that one range of seeds meets them all.
    const world = names[seed % names.length] ?? '';
    const outcome = await simulate(options(seed, world));
    if (values.json) process.stdout.write(`${JSON.stringify(short(outcome))}\n`);
    if (outcome.violations.length > 0) {
      failed++;
      if (!values.json) await tellFailure(outcome);
    } else if (!values.json && runs === 1) tellGood(outcome);
  }
  if (!values.json && runs > 1) say(`${runs} runs, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

function options(seed: number, world: string): SimulationOptions {
  const { store, steps, tasks } = values;
  if (store !== 'memory' && store !== 'sqlite') throw new UsageError('--store is memory or sqlite');
  const rates = (values.faults ?? '')
    .split(',')
    .filter(Boolean)
    .map((text): [FaultName, number] => {
      const [name, rate] = text.split('=');
      if (!faultNames.includes(name as FaultName) || Number.isNaN(Number(rate)))
        throw new UsageError(
          `--faults ${text}: it is written dropAnswer=0.1,dies=0.2 with names of --list`,
        );
      return [name as FaultName, Number(rate)];
    });
  return {
    seed,
    world,
    store,
    ...(values.json ? { silent: true } : {}),
    ...(steps === undefined ? {} : { steps: whole('steps', steps) }),
    ...(tasks === undefined ? {} : { tasks: whole('tasks', tasks) }),
    ...(values.faults === undefined
      ? {}
      : { rates: { ...noFaults, ...Object.fromEntries(rates) } }),
  };
}

function short({
  options: { seed, world, store },
  violations,
  steps,
  simulatedMs,
  tasks,
  attempts,
  struck,
}: Outcome) {
  return { seed, world, store, violations, steps, simulatedMs, tasks, attempts, struck };
}

function tellGood(outcome: Outcome): void {
  const { options: o, steps, simulatedMs, tasks, attempts, digest, struck } = outcome;
  if (values.story) say(outcome.story.join('\n'));
  say(
    `✓ ${o.world}, seed ${o.seed}: ${tasks} tasks, ${attempts} handlers begun, ${steps} steps, ${Math.round(simulatedMs / 1000)} simulated s, digest ${digest}`,
  );
  say(
    `  faults: ${
      Object.entries(struck)
        .map(([name, n]) => `${name} ${n}`)
        .join(', ') || 'none'
    }`,
  );
}

async function tellFailure(outcome: Outcome): Promise<void> {
  say(...failureInWords(outcome));
  if (values.story) say(outcome.story.join('\n'), outcome.log.join('\n'));
  if (values['no-shrink'] || !values.shrink) return;
  say(...smallerInWords(await shrink(outcome)));
}

function list(): void {
  say('Worlds:');
  for (const { name, about } of worlds) say(`  ${name.padEnd(12)} ${about}`);
  say('Faults (highest rate, per what):');
  for (const name of faultNames) {
    const { max, per, what } = FAULTS[name];
    say(`  ${name.padEnd(18)} ${String(max).padEnd(6)} per ${per.padEnd(8)} ${what}`);
  }
  say('Checkers:');
  for (const { name, rule } of checkers) say(`  ${name.padEnd(24)} ${rule}`);
}

function help(): void {
  say(
    `Plays whole worlds (workers, control plane, network, disks, people) from a seed, with faults, on simulated time, and
checks that no promise was broken. The same seed gives the same run: the same digest. ✓: every rule held. Exit code 0:
all held; 1: one was broken (told with the seed and how to repeat it); 64: wrong use.

npm run sim -- --seed 7 [--world garage,drain] [--steps 500] [--store sqlite] [--story]
npm run sim -- --runs 2000 [--from 1]       many seeds, on all cores; worlds in turn
npm run sim -- --list                       worlds, faults, checkers
  --tasks N            only the first N tasks of the plan
  --faults a=0.1,b=2   these rates, and no other faults
  --no-shrink          do not look for a smaller run that fails too
  --json               a line for each run, without story and digest
Defaults: seed 1, the world that the seed chooses, the memory store, all faults that the seed draws.`,
  );
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new UsageError(`--${name} ${text}: a whole number is needed`);
}

function say(...lines: string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}
