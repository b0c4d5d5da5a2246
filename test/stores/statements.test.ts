import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import { makeId } from '../../src/contract/index.ts';
import { submitTask } from '../../src/core/task.ts';
import { claimTask } from '../../src/core/task-claim.ts';
import type { Transaction } from '../../src/ports/store.ts';
import { CommandQueue, GroupSpoilt } from '../../src/stores/command-queue.ts';
import { ATTEMPT_COLUMNS, TASK_COLUMNS } from '../../src/stores/sqlite/columns.ts';
import { Connection } from '../../src/stores/sqlite/connection.ts';
import { SqliteGroup } from '../../src/stores/sqlite/group.ts';
import { KeptFiles } from '../../src/stores/sqlite/kept-files.ts';
import { migrate } from '../../src/stores/sqlite/migrate.ts';
import { inserted } from './inserted.ts';

/** What the statements of the store cost, by counts. */

let folder: string;
let c: Connection;
let group: SqliteGroup;
const clock = new SimulatedClock();
const random = new SimulatedRandom(3);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'interlock-statements-'));
  const file = join(folder, 'test.db');
  c = new Connection(file);
  c.script('PRAGMA journal_mode = WAL');
  migrate(c, file, true);
  group = new SqliteGroup(c, () => clock.wall(), new KeptFiles(file, c, () => clock.now()));
});
afterEach(() => {
  c.close();
  rmSync(folder, { recursive: true, force: true });
});

async function command<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
  group.begin();
  const { value } = await group.command(work);
  group.commit();
  return value;
}

/** What SQLite runs for a while, with what was bound. */
async function ran(work: () => Promise<unknown>): Promise<string[]> {
  const statements: string[] = [];
  const { run, put: putOne } = c;
  c.run = (sql, ...values) => {
    statements.push(sql);
    return run.call(c, sql, ...values);
  };
  c.put = (sql, values) => {
    statements.push(sql);
    putOne.call(c, sql, values);
  };
  await work();
  Object.assign(c, { run, put: putOne });
  return statements;
}

const facts = { dueAtMs: undefined, attention: false };

async function put(tx: Transaction, inputJson = '1') {
  const id = makeId('tsk', tx.nowMs, random.bytes(10));
  const request = { type: 'demo/hello', schemaVersion: 1, input: 1, idempotencyKey: id };
  const { task } = submitTask(tx.nowMs, request, { id, project: 'p', by: 'key:k' });
  return inserted(tx, task, { ...facts, rank: task.createdAtMs, inputJson });
}

/** A bit of everything that is asked often. */
async function everything(tx: Transaction): Promise<void> {
  const row = await put(tx);
  const { task } = row;
  const name = {
    project: 'p',
    workerId: 'w',
    sessionId: 's',
    requestId: makeId('req', tx.nowMs, random.bytes(10)),
  };
  const worker = { project: 'p', workerId: 'w', keyId: 'k', sessionId: 's', lastSeenMs: tx.nowMs };
  await tx.saveWorker(worker);
  await tx.saveHandlers('p', 'w', []);
  await tx.saveSession('p', 'w', 's', false);
  await tx.touchWorker('p', 'w', 's', 0);
  await tx.makeAvailable(7);
  const want = [{ type: task.type, schemaVersion: 1, slots: 3 }];
  await tx.claimable({ project: 'p', pools: ['default'], want, max: 3 });
  await tx.claimable({ project: 'p', pools: [...'abcdefghij'], want, max: 3 });
  const change = claimTask(tx.nowMs, task, {
    attemptId: makeId('att', tx.nowMs, random.bytes(10)),
    workerId: 'w',
    sessionId: 's',
    effectSafety: 'pure',
    effectGate: 'start',
    leaseMs: 30_000,
  });
  if (!change.task || !change.attempt) throw new Error('it was not claimed');
  const attempt = await tx.insertAttempt(row, change.attempt);
  const running = await tx.saveTask(row, change.task, { ...facts, dueAtMs: tx.nowMs });
  await tx.saveDue(running, tx.nowMs + 1);
  await tx.saveRank(running, 5);
  await tx.addClaim(name, [attempt.attempt.id]);
  await tx.addEvents(row.ref, 1, change.events);
  await tx.addLogs(row.ref, 1, [{ at: 'a', level: 'info', text: 'x' }], { lines: 9, chars: 99 });
  await tx.addAction(row.ref, 'a', { kind: 'cancel', status: 200, body: '{}' });
  await tx.stampKeys(new Map([['key_1', tx.nowMs]]));
  await tx.revokeKey('key_1');
  const loaded = await tx.attempt('p', attempt.attempt.id);
  if (!loaded) throw new Error('it is not there');
  await tx.saveAttempt(loaded.attempt, { ...loaded.attempt.attempt, startAccepted: true });
  await tx.task('p', task.id);
  await tx.taskByKey('p', task.id);
  await tx.latestAttempt(loaded.row);
  await tx.openAttempts('p', 'w');
  await tx.countOpenAttempts('p', 'w');
  await tx.openAttemptsAfter(0, 2);
  await tx.payload(row.ref, 'input');
  await tx.tasks({ project: 'p', limit: 3 });
  await tx.tasks({ project: 'p', type: task.type, attention: true, limit: 3 });
  await tx.events(row.ref, 0, 9);
  await tx.logs(row.ref, 0, 9);
  await tx.lastLog(row.ref);
  await tx.action(row.ref, 'a');
  await tx.queue('p');
  await tx.countTasks('p', 'failed', 3);
  await tx.failureGroups('p', 3, 0);
  await tx.losingTasks('p', 3);
  await tx.worker('p', 'w');
  await tx.workers('p');
  await tx.handlers('p', 'w');
  await tx.session('p', 'w', 's');
  await tx.claimed(name);
  await tx.keyByHash('h');
  await tx.keyById('k');
  await tx.keys({ project: 'p', limit: 3 });
  await tx.projects();
  await tx.countKeys();
  await tx.countUsableKeys('p', 'admin', tx.nowMs);
  await tx.countRevokedKeys();
  await tx.nextTimeMs();
  await tx.due(3);
  await tx.queuedAhead({ queuedAtMs: 0, ref: 0 }, 3);
  await tx.forget(0, 3);
  for (const what of ['workers', 'sessions', 'claims', 'actions'] as const)
    await tx.stampAsOfNow(what, Number.MAX_SAFE_INTEGER, 3);
}

it('are compiled once, whatever is bound to them', async () => {
  await command(everything);
  let compiled = 0;
  const silent = new Set<string>();
  c.database.setAuthorizer((...what) => {
    compiled++;
    silent.add(what.slice(1, 3).join(' '));
    return 0;
  });
  // To watch them makes SQLite compile each once more.
  await command(everything);
  expect(compiled).toBeGreaterThan(0);
  compiled = 0;
  silent.clear();
  await command(everything);
  expect([...silent]).toEqual([]);
  expect(compiled).toBe(0);
});

it('name the columns of tasks and attempts in the order of their tables', () => {
  for (const [table, columns] of [
    ['tasks', TASK_COLUMNS],
    ['attempts', ATTEMPT_COLUMNS],
  ] as const) {
    const there = c.all(`PRAGMA table_info(${table})`).map(({ name }) => name);
    expect(there).toEqual(['ref', ...columns]);
  }
});

it('write only what changes, also when a row is read twice and was written in between', async () => {
  const { task } = await command(put);
  const read = async (tx: Transaction) => {
    const row = await tx.task('p', task.id);
    if (!row) throw new Error('it is not there');
    return row;
  };
  const sets = (statements: string[]) =>
    statements.map((sql) => /^UPDATE tasks SET (.*) WHERE ref = \?$/.exec(sql)?.[1] ?? sql);
  const kept = () => command(async (tx) => (await read(tx)).task);

  const written = await ran(() =>
    command(async (tx) => {
      const row = await read(tx);
      await tx.saveTask(row, { ...row.task, seq: 2, fence: 1 }, facts);
      const again = await read(tx);
      await tx.saveTask(again, { ...again.task, seq: 2, attempts: 1, fence: 0 }, facts);
      // It looks for more than one row: what is held is written first.
      await tx.due(1);
      // By the row as it was: it is brought back to that.
      await tx.saveTask(row, row.task, { ...facts, dueAtMs: 4 });
      await tx.saveDue(row, 5);
      await tx.due(1);
      await tx.saveDue(row, undefined);
    }),
  );
  expect(sets(written)).toEqual([
    'seq = ?, attempts = ?',
    'seq = ?, attempts = ?, due_at = ?',
    'due_at = ?',
  ]);
  expect(await kept()).toEqual(task);

  // What a command that failed has written is not taken for kept.
  const fails = async (tx: Transaction) => {
    const row = await read(tx);
    await tx.saveTask(row, { ...row.task, seq: 9 }, facts);
    throw new Error('no');
  };
  group.begin();
  await expect(group.command(fails)).rejects.toThrow(GroupSpoilt);
  group.again();
  await expect(group.command(fails)).rejects.toThrow('no');
  await group.command(async (tx) => {
    const row = await read(tx);
    await tx.saveTask(row, { ...row.task, seq: 9 }, facts);
  });
  group.commit();
  expect(await kept()).toEqual({ ...task, seq: 9 });
});

it('undo nothing for a command that fails before it has written, and make savepoints where one has', async () => {
  const steps: string[] = [];
  const { step } = c;
  c.step = (sql) => {
    steps.push(sql);
    step.call(c, sql);
  };
  const queue = new CommandQueue<Transaction>(group);
  const fails = (tx: Transaction, written: boolean) =>
    (written ? put(tx) : tx.due(1)).then(() => Promise.reject(new Error('no')));
  await Promise.allSettled([queue.run(put), queue.run((tx) => fails(tx, false)), queue.run(put)]);
  expect(steps.splice(0)).toEqual(['BEGIN IMMEDIATE', 'COMMIT']);
  await Promise.allSettled([queue.run(put), queue.run((tx) => fails(tx, true))]);
  const [kept, undone] = ['SAVEPOINT command', 'ROLLBACK TO command'];
  const end = 'RELEASE command';
  expect(steps.splice(0)).toEqual([
    ...['BEGIN IMMEDIATE', 'ROLLBACK', 'BEGIN IMMEDIATE'],
    ...[kept, end, kept, undone, end, 'COMMIT'],
  ]);
  // The next group is as any other.
  await queue.run(put);
  expect(steps).toEqual(['BEGIN IMMEDIATE', 'COMMIT']);
  expect(c.get('SELECT count(*) AS n FROM tasks')?.n).toBe(4);
});

it.each([false, true])(
  'a full disk refuses the whole group, and the next is kept (run again: %s)',
  async (again) => {
    const queue = new CommandQueue<Transaction>(group);
    await queue.run(put);
    const pages = c.get('PRAGMA page_count')?.page_count;
    c.script(`PRAGMA max_page_count = ${pages}`);
    const large = async (tx: Transaction) => {
      await put(tx, JSON.stringify('x'.repeat(100_000)));
    };
    const spoils = async (tx: Transaction) => {
      await tx.saveSession('p', 'w', 's', false);
      throw new Error('no');
    };
    const done = await Promise.allSettled([
      ...(again ? [queue.run(spoils)] : []),
      queue.run(async (tx) => tx.saveSession('p', 'w', 's', false)),
      queue.run(large),
    ]);
    for (const one of done)
      expect(one).toMatchObject({ status: 'rejected', reason: { code: 'UNAVAILABLE' } });
    expect(c.get('SELECT count(*) AS n FROM sessions')?.n).toBe(0);
    c.script('PRAGMA max_page_count = 1000000');
    await queue.run(large);
    expect(c.get('SELECT count(*) AS n FROM tasks')?.n).toBe(2);
  },
);

it('find what people look at by an index, however many tasks there are', async () => {
  await command(put);
  const plan = (sql: string) =>
    c
      .all(`EXPLAIN QUERY PLAN ${sql}`)
      .map(({ detail }) => String(detail))
      .join('; ');
  const asked = await asks(() =>
    command(async (tx) => {
      await tx.countTasks('p', 'failed', 3);
      await tx.failureGroups('p', 3, 0);
      await tx.losingTasks('p', 3);
    }),
  );
  expect(asked.map(plan)).toEqual([
    expect.stringContaining('COVERING INDEX tasks_list'),
    expect.stringContaining('INDEX tasks_list'),
    expect.stringContaining('INDEX tasks_losing'),
  ]);
});

/** What SQLite is asked for a while. */
async function asks(work: () => Promise<unknown>): Promise<string[]> {
  const statements: string[] = [];
  const { get, all, allValues } = c;
  const noting =
    <T>(method: (sql: string, ...values: never[]) => T) =>
    (sql: string, ...values: never[]) => {
      statements.push(sql);
      return method.call(c, sql, ...values);
    };
  c.get = noting(get);
  c.all = noting(all);
  c.allValues = noting(allValues);
  await work();
  Object.assign(c, { get, all, allValues });
  return statements;
}
