/**
 * `node --import ./scripts/as-text.mjs bench/store.ts [--quick] [--store memory] [--json file]`: what the store costs, in one process and
 * without HTTP. Processor time and counts, so that a busy machine changes little; the memory store's figures are the part
 * of the machine (`core/task*`) and of this program.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeId } from '../src/contract/ids.ts';
import { keepChange, keepNewTask } from '../src/control-plane/change.ts';
import { claimRank, submitTask } from '../src/core/task.ts';
import { claimTask } from '../src/core/task-claim.ts';
import { applyReport } from '../src/core/task-report.ts';
import type { Store } from '../src/ports/store.ts';
import { openMemoryStore } from '../src/stores/memory.ts';
import { Connection } from '../src/stores/sqlite/connection.ts';
import { openSqliteStore } from '../src/stores/sqlite.ts';
import { systemClock } from '../src/system/clock.ts';
import { systemRandom } from '../src/system/random.ts';
import type { Row } from './rows.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    store: { type: 'string', default: 'sqlite' },
    json: { type: 'string' },
  },
});
const clock = systemClock();
const random = systemRandom();
const project = 'default';
const worker = { workerId: 'bench', sessionId: 'ses_bench' };
const type = 'bench/noop';

/** Statements that any connection has run; those that begin, keep or undo are not counted. */
let statements = 0;
for (const name of ['get', 'all', 'values', 'allValues', 'run'] as const) {
  const inner = Connection.prototype[name] as (...given: unknown[]) => never;
  Object.assign(Connection.prototype, {
    [name](this: Connection, ...given: unknown[]) {
      statements++;
      return inner.apply(this, given);
    },
  });
}

const rows: Row[] = [];
function tell(what: string, value: number, unit: string, note = ''): void {
  rows.push({ what, value, unit, ...(note && { note }) });
  console.log(
    `${what.padEnd(60)} ${value.toFixed(value >= 100 ? 0 : 2).padStart(9)} ${unit.padEnd(8)}${note}`,
  );
}

const submit = (store: Store, i: number) =>
  store.write((tx) => {
    const made = submitTask(
      tx.nowMs,
      { type, schemaVersion: 1, input: { i } },
      { id: makeId('tsk', tx.nowMs, random.bytes(10)), project, by: 'key:key_bench' },
    );
    return keepNewTask(tx, made, { rank: claimRank(made.task), inputJson: `{"i":${i}}` });
  });

/** What `control-plane/claim.ts` asks of the store. @returns ids of attempts. */
const claim = (store: Store, max: number) =>
  store.write(async (tx) => {
    await tx.worker(project, worker.workerId);
    const name = { project, ...worker, requestId: makeId('req', tx.nowMs, random.bytes(10)) };
    await tx.claimed(name);
    await tx.makeAvailable(100);
    const rowsFound = await tx.claimable({
      project,
      pools: ['default'],
      want: [{ type, schemaVersion: 1, slots: max }],
      max,
    });
    const ids: string[] = [];
    for (const row of rowsFound) {
      const change = claimTask(tx.nowMs, row.task, {
        attemptId: makeId('att', tx.nowMs, random.bytes(10)),
        ...worker,
        effectSafety: 'pure',
        effectGate: 'start',
        leaseMs: 30_000,
      });
      await tx.payload(row.ref, 'input');
      await keepChange(tx, row, undefined, change);
      if (change.attempt) ids.push(change.attempt.id);
    }
    await tx.addClaim(name, ids);
    return ids;
  });

const report = (store: Store, id: string, op: 'start' | 'complete') =>
  store.write(async (tx) => {
    const found = await tx.attempt(project, id);
    if (!found) throw new Error(`No attempt ${id}`);
    const { attempt } = found.attempt;
    const said = { attemptId: id, taskId: attempt.taskId, fence: attempt.fence, leaseToken: '' };
    const change = applyReport(
      tx.nowMs,
      found.row.task,
      attempt,
      // biome-ignore lint/suspicious/noExplicitAny: as the schemas would have made it
      { ...said, op, ...(op === 'start' ? worker : { result: 1 }) } as any,
      {
        tokenFits: true,
        hash: op === 'start' ? '' : `hash of ${id}`,
        ...(op === 'start' ? { session: 'current' as const } : { valueJson: '{"done":true}' }),
        chance: 0.5,
      },
    );
    if (!change.verdict.ok) throw new Error(`${op}: ${change.verdict.detail}`);
    await keepChange(tx, found.row, found.attempt, change);
  });

/** Calls `one` so many times, so many at a time. */
async function inFlight(count: number, width: number, one: (i: number) => Promise<unknown>) {
  let next = 0;
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (next < count) await one(next++);
    }),
  );
}

interface Cost {
  readonly us: number;
  readonly wallUs: number;
  readonly statements: number;
  readonly commits: number;
}

async function costOf(store: Store, count: number, run: () => Promise<unknown>): Promise<Cost> {
  const cpu = process.cpuUsage();
  const began = performance.now();
  const before = { statements, commits: store.stats.commits };
  await run();
  const used = process.cpuUsage(cpu);
  return {
    us: (used.user + used.system) / count,
    wallUs: ((performance.now() - began) * 1_000) / count,
    statements: (statements - before.statements) / count,
    commits: (store.stats.commits - before.commits) / count,
  };
}

/** All calls of tasks' lives, in the order that a drain mixes them. */
async function life(store: Store, count: number, width: number, note: string): Promise<void> {
  const ids: string[] = [];
  const parts: Record<string, Cost> = {};
  parts.submit = await costOf(store, count, () => inFlight(count, width, (i) => submit(store, i)));
  parts.claim = await costOf(store, count, async () => {
    while (ids.length < count) ids.push(...(await claim(store, Math.min(width, 8))));
  });
  for (const op of ['start', 'complete'] as const)
    parts[op] = await costOf(store, count, () =>
      inFlight(count, width, (i) => report(store, ids[i] as string, op)),
    );
  let us = 0;
  for (const [part, cost] of Object.entries(parts)) {
    us += cost.us;
    const per = `${cost.statements.toFixed(1)} statements, ${cost.commits.toFixed(3)} commits, ${cost.wallUs.toFixed(0)} µs of time`;
    tell(`${part}, ${width} in flight${note}`, cost.us, 'µs cpu', per);
  }
  tell(`a task's whole life, ${width} in flight${note}`, us, 'µs cpu');
}

/** @returns median of the calls, one after another, in µs of processor time. */
async function one(
  store: Store,
  what: string,
  call: () => Promise<unknown>,
  calls = 200,
): Promise<void> {
  const costs: Cost[] = [];
  for (let i = 0; i < calls; i++) costs.push(await costOf(store, 1, call));
  const median = (pick: (cost: Cost) => number) =>
    costs.map(pick).sort((a, b) => a - b)[Math.floor(calls / 2)] as number;
  tell(
    `${what} (${median((c) => c.statements)} statements)`,
    median((c) => c.us),
    'µs cpu',
  );
}

/** A queue that is there, claimed and completed by workers who have so many at a time. */
async function drain(store: Store, count: number, width: number): Promise<void> {
  await inFlight(count, 128, (i) => submit(store, i));
  const cost = await costOf(store, count, async () => {
    let ids = await claim(store, width);
    for (let next: string[] = []; ids.length > 0; ids = next) {
      const ahead = claim(store, width).then((more) => {
        next = more;
      });
      await Promise.all([ahead, ...ids.map((id) => report(store, id, 'complete'))]);
    }
  });
  const per = `${cost.statements.toFixed(1)} statements, ${cost.commits.toFixed(3)} commits, ${cost.wallUs.toFixed(0)} µs of time`;
  tell(`claim and complete, ${width} at a time`, cost.us, 'µs cpu', per);
}

const folder = mkdtempSync(join(tmpdir(), 'interlock-bench-store-'));
const open = (name: string): Store =>
  values.store === 'memory'
    ? openMemoryStore({ clock, random })
    : openSqliteStore({ file: join(folder, name), clock, random });
try {
  const share = values.quick ? 0.1 : 1;
  const store = open('life.db');
  await life(store, Math.round(4_000 * share), 16, ' (warming up)');
  await life(store, Math.round(20_000 * share), 16, '');
  await life(store, Math.round(20_000 * share), 128, '');
  await life(store, Math.round(500 * share), 1, '');
  for (const width of [1, 16, 64])
    await drain(store, Math.round((width === 1 ? 1_000 : 20_000) * share), width);
  await store.close();
  for (const queued of [1_000, values.quick ? 100_000 : 1_000_000]) {
    const long = open(`queue-${queued}.db`);
    await inFlight(queued, 1_000, (i) => submit(long, i));
    const at = `at ${queued.toLocaleString('en')} queued`;
    await one(long, `claim of one ${at}`, () => claim(long, 1));
    await one(long, `claim of 16 ${at}`, () => claim(long, 16), 20);
    await one(long, `submit ${at}`, () => submit(long, 0));
    await one(long, `counts of the queue ${at}`, () => long.queue(project));
    await one(long, `first page of tasks ${at}`, () => long.tasks({ project, limit: 50 }));
    await one(long, `first page of a type ${at}`, () => long.tasks({ project, type, limit: 50 }));
    await one(long, `when the sweeper is due ${at}`, () => long.nextTimeMs());
    await long.close();
  }
  if (values.json) writeFileSync(values.json, `${JSON.stringify(rows, null, 2)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
