/**
 * Plants bugs that must never slip through, one at a time: first into the simulator, then, where it sees nothing, into a
 * copy of the tree whose tests have to turn red. One that nobody catches fails the run. `npm run mutations -- --help`.
 * The list, and what an entry is: `scripts/mutations/index.mjs`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { mutations } from './mutations/index.mjs';
import { patched } from './mutations/patched.mjs';
import { bundle, play } from './mutations/simulator.mjs';
import { page, printed, summary } from './mutations/table.mjs';
import { copyOfTheTree, endGroup, runTests, testMutation } from './mutations/tests.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    share: { type: 'string' },
    full: { type: 'boolean', default: false },
    'no-tests': { type: 'boolean', default: false },
    seeds: { type: 'string', default: '120' },
    seconds: { type: 'string', default: '40' },
    write: { type: 'boolean', default: false },
    counts: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
/** At the same time: the smallest machine has so many cores. */
const JOBS = 2;
/** The simulator alone, before anything is planted: five seeds of each world. */
const SOUND_RUNS = 50;

const children = new Set();
/** Seeds that break a rule as it is. */
const reds = [];
process.on('exit', () => {
  for (const child of children) endGroup(child);
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

if (values.help) {
  say(`npm run mutations                    all of them
npm run mutations -- --only fence    those whose name holds the word
  --share 1/2      the first of two parts, each of them every second mutation
  --full           the tests too where the simulator has caught it
  --no-tests       the simulator alone
  --seeds N        so many at most for each [120]
  --seconds N      so long at most for each [40]
  --write          write docs/mutations.md
  --counts FILE    leave there how many were caught and how many were not`);
} else await main();

async function main() {
  const [part = 1, parts = 1] = (values.share ?? '').split('/').map(Number).filter(Boolean);
  const chosen = mutations
    .filter(({ name }) => values.only === undefined || name.includes(values.only))
    .filter((_, i) => i % parts === part - 1);
  if (chosen.length === 0) fail(`There is no such mutation (--only, --share).`);
  // All of them fit, before anything runs.
  for (const one of chosen) patched(one, readFileSync(join(root, one.file), 'utf8'));

  const rows = chosen.map((mutation) => ({ mutation }));
  await inSimulator(rows);
  const left = rows.filter((row) => values.full || !row.sim?.broke);
  if (left.length > 0 && !values['no-tests']) await inTests(left);
  say('', ...printed(rows), '', summary(rows));
  if (values.write) writeFileSync(join(root, 'docs/mutations.md'), page(rows));
  const survived = rows.filter((row) => !row.sim?.broke && !(row.tests?.failed.length > 0));
  tellReds();
  const failed = survived.length + reds.length;
  if (values.counts)
    writeFileSync(values.counts, JSON.stringify({ passed: rows.length - survived.length, failed }));
  process.exitCode = failed > 0 ? 1 : 0;
}

async function inSimulator(rows) {
  const sound = await bundle(root, 'sound');
  say('The simulator without any mutation …');
  const first = await play(sound, { runs: SOUND_RUNS }, children);
  if (first.broke) reds.push(first.broke);
  await each(
    rows.filter(({ mutation }) => mutation.unseen === undefined),
    async (row, slot) => {
      const { mutation } = row;
      const outfile = await bundle(root, `${slot}`, mutation);
      if (outfile === undefined)
        fail(`"${mutation.name}": the simulator does not run ${mutation.file}. Say so (unseen).`);
      row.sim = await search(sound, outfile, mutation);
      const { broke, runs } = row.sim;
      const found = broke && `${broke.world} ${broke.seed}, ${broke.checker}: ${broke.text}`;
      say(`  ${mutation.name}: ${found ?? `nothing in ${runs} seeds`}`);
    },
  );
}

/** The first seed that breaks a rule with the mutation, and none without it. */
async function search(sound, outfile, { worlds, faults }) {
  const until = Date.now() + Number(values.seconds) * 1_000;
  const most = Number(values.seeds);
  for (let done = 0; ; ) {
    const left = { from: done + 1, runs: most - done, seconds: (until - Date.now()) / 1_000 };
    if (left.runs <= 0 || left.seconds <= 0) return { runs: done };
    const { broke, runs } = await play(outfile, { ...left, worlds, faults }, children);
    done += runs;
    if (broke?.seed === undefined) return { runs: done, broke };
    const same = { from: broke.seed, runs: 1, worlds: [broke.world], faults };
    const without = await play(sound, same, children);
    if (!without.broke) return { runs: done, broke };
    reds.push({ ...without.broke, faults });
  }
}

async function inTests(rows) {
  const copies = Array.from({ length: Math.min(JOBS, rows.length) }, () => copyOfTheTree(root));
  say('The tests without any mutation …');
  const all = [...new Set(rows.flatMap(({ mutation }) => mutation.tests))];
  const { green, failed } = await runTests(copies[0], all, children);
  if (!green)
    fail(`They are red already, so a mutation would prove nothing:\n  ${failed.join('\n  ')}`);
  await each(rows, async (row, slot) => {
    row.tests = await testMutation(copies[slot], row.mutation, children);
    say(`  ${row.mutation.name}: ${row.tests.failed[0] ?? 'all green'}`);
  });
}

/** All of them, as many at a time as there are slots. */
async function each(rows, work) {
  const waiting = [...rows];
  const slots = Array.from({ length: JOBS }, async (_, slot) => {
    for (let row = waiting.shift(); row; row = waiting.shift()) await work(row, slot);
  });
  await Promise.all(slots);
}

/** What is broken without any mutation proves nothing, and fails the run. */
function tellReds() {
  for (const { world, seed, checker, text, faults } of reds)
    say(
      `Red without any mutation: ${world}, seed ${seed}: ${checker}: ${text}`,
      `  npm run sim -- --world ${world} --seed ${seed}${faults ? ` --faults ${faults}` : ''}`,
    );
}

function say(...lines) {
  process.stdout.write(`${lines.join('\n')}\n`);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
