/**
 * Shows that the cases of the conformance kits can fail: each is played against a peer that is broken on purpose. A case
 * that passes there, and one that no fault is planted for, fail the run. `npm run broken-peers -- --help`.
 * The lists, and what an entry is: `scripts/broken-peers/index.mjs`.
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { allFaults, kinds, patchesOf } from './broken-peers/index.mjs';
import { peer } from './broken-peers/peer.mjs';
import { caseNames, endKit, runKit } from './broken-peers/run.mjs';
import { printed, written } from './broken-peers/table.mjs';
import { patched } from './mutations/patched.mjs';
import { endGroup } from './mutations/tests.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kind: { type: 'string' },
    only: { type: 'string' },
    case: { type: 'string' },
    fault: { type: 'string' },
    share: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    write: { type: 'boolean', default: false },
    counts: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const children = new Set();
process.on('exit', () => {
  for (const child of children) endGroup(child);
});
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, async () => {
    await Promise.all([...children].map(endKit));
    process.exit(130);
  });

if (values.help) {
  say(`npm run broken-peers                          all of them
npm run broken-peers -- --only fence          faults whose name holds the word
  --case reports/once    those that this case has to catch
  --kind worker          of one kit only: ${kinds.join(' or ')}
  --share 1/3            the first of three parts, each of them every third fault
  --jobs N               so many at the same time [2]
  --write                write the tables into docs/conformance.md
  --counts FILE          leave there how many were caught and how many were not
node scripts/broken-peers.mjs worker --fault NAME -- <arguments>
                         starts that broken peer alone`);
} else if (positionals.length > 0) await start(...positionals);
else await main();

async function main() {
  const all = (await allFaults()).filter(
    ({ kind }) => values.kind === undefined || values.kind === kind,
  );
  const [part = 1, parts = 1] = (values.share ?? '').split('/').map(Number).filter(Boolean);
  const chosen = all.filter(
    ({ name, cases }, place) =>
      (values.only === undefined || name.includes(values.only)) &&
      (values.case === undefined || cases.includes(values.case)) &&
      place % parts === part % parts,
  );
  if (chosen.length === 0) fail('No fault fits.');
  // All of them fit, before anything runs.
  for (const patch of chosen.flatMap(patchesOf))
    patched(patch, readFileSync(join(root, patch.file), 'utf8'));

  const sound = await peer(root, 'sound');
  const kit = join(sound, 'interlock.js');
  const names = {};
  for (const kind of kinds) names[kind] = await caseNames(kit, kind, children);
  for (const fault of chosen) {
    const strange = fault.cases.find((name) => !names[fault.kind].includes(name));
    if (strange !== undefined || fault.cases.length === 0)
      fail(`"${fault.name}" names ${strange ?? 'no case'}, which is no case of its kit.`);
  }
  const rows = [];
  await each(chosen, async (fault, slot) => {
    let row = await play(fault, kit, `${slot}`);
    // Where a shared machine stalls, a case may look at the wrong moment: once more, as with the tests there.
    if (process.env.CI && (row.trouble || row.missed.length > 0)) {
      say(...printed([row]), 'once more:');
      row = await play(fault, kit, `${slot}`);
    }
    rows.push(row);
    say(...printed([row]));
  });

  const whole = values.only === undefined && values.case === undefined;
  const open = whole
    ? kinds
        .filter((kind) => values.kind === undefined || values.kind === kind)
        .flatMap((kind) => names[kind].filter((name) => !all.some(catches(kind, name))))
    : [];
  const bad = rows.filter(({ missed, trouble }) => trouble || missed.length > 0);
  if (open.length > 0) say('', 'No fault is planted for', ...open.map((name) => `  ${name}`));
  say('', `${rows.length - bad.length} of ${rows.length} faults are caught by all their cases.`);
  if (values.write && whole && parts === 1 && bad.length === 0) write(names, all);
  if (values.counts)
    writeFileSync(
      values.counts,
      JSON.stringify({ passed: rows.length - bad.length, failed: bad.length + open.length }),
    );
  process.exitCode = bad.length + open.length > 0 ? 1 : 0;
}

/** The kit against one broken peer: the cases of the fault alone. */
async function play(fault, kit, slot) {
  const row = { fault, caught: [], missed: [] };
  try {
    const folder = await peer(root, slot, fault);
    const only = fault.cases.flatMap((name) => ['--only', name]);
    const { kitArguments } = await import(`./broken-peers/${fault.kind}.mjs`);
    const { args, close } = await kitArguments({ root, folder, kit, only, children });
    try {
      const verdicts = await runKit(kit, args, children);
      for (const name of fault.cases) {
        const { outcome, says = '' } = verdicts.find((verdict) => verdict.name === name) ?? {};
        // Why is told too: a case that fails for another reason than the fault shows nothing.
        if (outcome === 'failed') row.caught.push({ name, says: firstLine(says) });
        else row.missed.push(outcome === 'passed' ? name : `${name} (${outcome ?? 'not played'})`);
      }
    } finally {
      await close();
    }
  } catch (error) {
    row.trouble = error.message;
  }
  return row;
}

function firstLine(text) {
  return text.split('\n')[0].slice(0, 160);
}

function catches(kind, name) {
  return (fault) => fault.kind === kind && fault.cases.includes(name);
}

function write(names, all) {
  const file = join(root, 'docs/conformance.md');
  let page = readFileSync(file, 'utf8');
  for (const kind of kinds) {
    if (values.kind !== undefined && values.kind !== kind) continue;
    page = written(
      page,
      kind,
      names[kind],
      all.filter((fault) => fault.kind === kind),
    );
  }
  writeFileSync(file, page);
}

/** A broken peer alone, as long as it runs. */
async function start(kind, ...args) {
  const fault = (await allFaults()).find((one) => one.kind === kind && one.name === values.fault);
  if (fault === undefined) fail(`There is no fault "${values.fault}" of a ${kind}.`);
  const folder = await peer(root, 'alone', fault);
  const { programArguments } = await import(`./broken-peers/${kind}.mjs`);
  const command = [...programArguments(root, folder), ...args];
  const child = spawn(process.execPath, command, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.removeAllListeners(signal);
    process.on(signal, () => child.kill(signal));
  }
  const code = await new Promise((resolve) => child.on('close', resolve));
  process.exitCode = code ?? 1;
}

/** All of them, as many at a time as there are jobs. */
async function each(rows, work) {
  const waiting = [...rows];
  const slots = Array.from({ length: Number(values.jobs) }, async (_, slot) => {
    for (let row = waiting.shift(); row; row = waiting.shift()) await work(row, slot);
  });
  await Promise.all(slots);
}

function say(...lines) {
  process.stdout.write(`${lines.join('\n')}\n`);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
