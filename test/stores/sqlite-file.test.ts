import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import { makeId } from '../../src/contract/index.ts';
import { submitTask } from '../../src/core/task.ts';
import type { Store, Transaction } from '../../src/ports/store.ts';
import { CommandQueue } from '../../src/stores/command-queue.ts';
import { Checkpoints } from '../../src/stores/sqlite/checkpoints.ts';
import { Connection } from '../../src/stores/sqlite/connection.ts';
import { SqliteGroup } from '../../src/stores/sqlite/group.ts';
import { KeptFiles } from '../../src/stores/sqlite/kept-files.ts';
import { migrate } from '../../src/stores/sqlite/migrate.ts';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import { inserted } from './inserted.ts';

/** What only a file has: its log, its locks, its plans. */

let folder: string;
let file: string;
let clock: SimulatedClock;
const random = new SimulatedRandom(3);
const stores: Store[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'interlock-sqlite-'));
  file = join(folder, 'test.db');
  clock = new SimulatedClock();
});
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

function open(): Store {
  const store = openSqliteStore({ file, clock, random });
  stores.push(store);
  return store;
}

async function put(
  tx: Transaction,
  more: Record<string, unknown> = {},
  input = '1',
): Promise<void> {
  const { task } = submitTask(
    tx.nowMs,
    { type: 'demo/hello', schemaVersion: 1, input: 1, ...more },
    { id: makeId('tsk', tx.nowMs, random.bytes(10)), project: 'p', by: 'key:k' },
  );
  await inserted(tx, task, {
    dueAtMs: undefined,
    attention: false,
    rank: task.createdAtMs,
    inputJson: input,
  });
}

/** Frames of the log that are not in the database yet. */
const notFolded = () => {
  using reader = new DatabaseSync(file);
  const [row] = reader.prepare('PRAGMA wal_checkpoint(NOOP)').all();
  return Number(row?.log) - Number(row?.checkpointed);
};
const walBytes = () => (existsSync(`${file}-wal`) ? statSync(`${file}-wal`).size : 0);

it('keeps its log under a bound while it is written and read, and folds it in when idle (F50)', async () => {
  const store = open();
  let largest = 0;
  for (let i = 0; i < 150; i++) {
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        await store.write((tx) => put(tx, {}, JSON.stringify('x'.repeat(20_000))));
        await store.tasks({ project: 'p', limit: 50 });
      }),
    );
    largest = Math.max(largest, walBytes());
  }
  // 30 MB were written.
  expect(statSync(file).size).toBeGreaterThan(20_000_000);
  // Commits wait at 24.6 MB; a group of them may come on top.
  expect(largest).toBeLessThan(28_000_000);
  // A control plane at rest goes on looking: commands that keep nothing are no commits.
  const { commits } = store.stats;
  for (let i = 0; i < 20; i++) {
    await store.write((tx) => tx.due(10));
    await clock.advance(500);
  }
  expect(store.stats.commits).toBe(commits);
  expect(notFolded()).toBeLessThan(1_000);
});

it('folds its log in without waiting for a reader that stays', async () => {
  const store = open();
  await store.write((tx) => put(tx));
  const reader = new DatabaseSync(file);
  reader.exec('BEGIN; SELECT count(*) FROM tasks');
  // A short log is left alone.
  for (let i = 0; i < 300; i++)
    await store.write((tx) => put(tx, {}, JSON.stringify('x'.repeat(20_000))));
  const began = performance.now();
  await clock.advance(10_000);
  expect(performance.now() - began).toBeLessThan(2_000);
  expect(notFolded()).toBeGreaterThan(1_000);
  reader.exec('COMMIT');
  reader.close();
  // Nobody writes: it is looked at again all the same.
  await clock.advance(10_000);
  await expect.poll(notFolded).toBe(0);
});

it('folds a short log in after a minute without commits, once, and has no timer after that', async () => {
  const store = open();
  await store.write((tx) => put(tx));
  // With new tables.
  await clock.advance(4_000);
  await expect.poll(notFolded).toBe(0);
  const folds = vi.spyOn(Checkpoints.prototype, 'restWhole');
  const timers = vi.spyOn(clock, 'timer');
  try {
    for (let i = 0; i < 3; i++) {
      await store.write((tx) => put(tx));
      await clock.advance(30_000);
    }
    expect(folds).not.toHaveBeenCalled();
    expect(notFolded()).toBeGreaterThan(0);
    // Somebody reads in another process: what is held up is left to the next rest.
    const reader = new DatabaseSync(file);
    reader.exec('BEGIN; SELECT count(*) FROM tasks');
    await store.write((tx) => put(tx));
    await clock.advance(130_000);
    expect(folds).toHaveBeenCalledTimes(1);
    reader.close();
    await clock.advance(600_000);
    await store.write((tx) => tx.due(10));
    await clock.advance(600_000);
    expect(folds).toHaveBeenCalledTimes(1);
    await store.write((tx) => put(tx));
    await clock.advance(130_000);
    await expect.poll(notFolded).toBe(0);
    expect(folds).toHaveBeenCalledTimes(2);
    timers.mockClear();
    await clock.advance(3_600_000);
    expect(timers).not.toHaveBeenCalled();
  } finally {
    folds.mockRestore();
    timers.mockRestore();
  }
});

it('never has SQLite fold the log inside a commit of its owner, however long a reader has held it', async () => {
  const scripts = vi.spyOn(Connection.prototype, 'script');
  try {
    open();
    stores.push(openSqliteStore({ file, clock, random, migrates: false }));
    const pages = scripts.mock.contexts
      .filter((_, i) => scripts.mock.calls[i]?.[0].includes('wal_autocheckpoint'))
      .map((c) => (c as Connection).values('PRAGMA wal_autocheckpoint')?.[0]);
    expect(pages).toEqual([0, 1_000]);
  } finally {
    scripts.mockRestore();
  }
});

it('reads a key once, and again when anybody has changed one', async () => {
  const store = open();
  const visitor = openSqliteStore({ file, clock, random, migrates: false });
  stores.push(visitor);
  const key = {
    id: 'k',
    project: 'p',
    name: 'n',
    kind: 'admin',
    hash: 'h',
    createdAtMs: 1,
  } as const;
  const asked = vi.spyOn(Connection.prototype, 'get');
  const reads = () => asked.mock.calls.filter(([sql]) => sql.includes('FROM keys')).length;
  const revoked = async () => (await store.keyByHash('h'))?.revokedAtMs !== undefined;
  try {
    expect(await store.keyByHash('h')).toBeUndefined();
    await store.write((tx) => tx.insertKey(key));
    expect(await revoked()).toBe(false);
    expect(reads()).toBe(2);
    for (let i = 0; i < 5; i++) {
      await store.write((tx) => put(tx));
      expect(await revoked()).toBe(false);
    }
    expect(reads()).toBe(2);
    await visitor.write((tx) => tx.revokeKey('k'));
    expect(await revoked()).toBe(true);
    await store.write((tx) => tx.insertKey({ ...key, id: 'k2', hash: 'h2' }));
    await store.write(async (tx) => {
      await tx.revokeKey('k2');
      // Not committed yet.
      expect((await store.keyByHash('h2'))?.revokedAtMs).toBeUndefined();
    });
    expect((await store.keyByHash('h2'))?.revokedAtMs).toBeDefined();
  } finally {
    asked.mockRestore();
  }
});

it('keeps a write-ahead log, so that readers never wait for the writer', () => {
  open();
  const source = new DatabaseSync(file);
  expect(source.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  source.close();
});

it('has the same epoch when it is opened again, another file has another', async () => {
  const { epoch } = open();
  expect(epoch).toMatch(/^[A-Za-z0-9_-]{22}$/);
  await stores.pop()?.close();
  expect(open().epoch).toBe(epoch);
  file = join(folder, 'other.db');
  expect(open().epoch).not.toBe(epoch);
});

it('waits for another process that holds the lock for a moment', async () => {
  const store = open();
  const other = openSqliteStore({ file, clock, random });
  stores.push(other);
  await Promise.all(
    Array.from({ length: 40 }, (_, i) => (i % 2 ? store : other).write((tx) => put(tx))),
  );
  expect((await store.tasks({ project: 'p', limit: 100 })).rows).toHaveLength(40);
});

it('searches a bounded number of rows for a page, and goes on from there', async () => {
  const store = open();
  await store.write(async (tx) => {
    await put(tx, { labels: { found: 'yes' } });
    for (let i = 0; i < 5_100; i++) await put(tx);
  });
  const query = { project: 'p', labels: [{ name: 'found' }], limit: 10 };
  const first = await store.tasks(query);
  expect(first.rows.length).toBeLessThanOrEqual(1);
  let found = first.rows.length;
  let pages = 1;
  for (let next = first.next; next !== undefined; pages++) {
    const page = await store.tasks({ ...query, belowId: next });
    found += page.rows.length;
    next = page.next;
  }
  expect(found).toBe(1);
  expect(pages).toBe(2);
});

describe('plans', () => {
  /** What SQLite does for a statement, on the tables of the store. */
  function plan(sql: string): string {
    open();
    const database = new DatabaseSync(file);
    const rows = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
    database.close();
    return rows.map(({ detail }) => detail).join('\n');
  }

  it.each([
    [
      'claims',
      "SELECT ref, rank FROM tasks WHERE project = ? AND pool = ? AND type = ? AND schema_version = ? AND status = 'queued' AND ready = 1 AND (deadline IS NULL OR deadline > ?) ORDER BY rank LIMIT ?",
      'tasks_claim',
    ],
    [
      'hops to the next type',
      "SELECT pool, type, schema_version FROM tasks WHERE project = ? AND pool = ? AND type > ? AND status = 'queued' AND ready = 1 ORDER BY type, schema_version LIMIT 1",
      'tasks_claim (project=? AND pool=? AND type>?)',
    ],
    ['the sweeper', 'SELECT * FROM tasks WHERE due_at <= ? ORDER BY due_at LIMIT ?', 'tasks_due'],
    [
      'lists',
      'SELECT * FROM tasks WHERE project = ? AND status = ? AND id < ? AND id > ? AND type = ? ORDER BY id DESC LIMIT ?',
      'tasks_list',
    ],
    [
      'what needs attention',
      'SELECT * FROM tasks WHERE project = ? AND status = ? AND id < ? AND id > ? AND attention = 1 ORDER BY id DESC LIMIT ?',
      'tasks_attention',
    ],
    [
      'idempotency',
      'SELECT * FROM tasks WHERE project = ? AND idempotency_key = ?',
      'tasks_idempotency',
    ],
    [
      'open attempts',
      'SELECT count(*) FROM attempts WHERE project = ? AND worker_id = ? AND ended_at IS NULL',
      'attempts_open',
    ],
  ])('of %s use their index and sort nothing', (_, sql, index) => {
    const steps = plan(sql);
    expect(steps).toContain(index);
    expect(steps).not.toContain('TEMP B-TREE');
    expect(steps).not.toMatch(/^SCAN/m);
  });
});

it('says that the disk is full where its tables find no room, also where SQLite has undone them by itself, and makes them when there is', () => {
  const c = new Connection(file);
  c.script('PRAGMA max_page_count = 3');
  expect(() => migrate(c, file, true)).toThrow('full');
  c.script('PRAGMA max_page_count = 100000');
  // As it does at a write to the log that finds no room.
  const script = c.script.bind(c);
  c.script = (sql) => {
    script(sql === 'COMMIT' ? 'ROLLBACK' : sql);
    if (sql === 'COMMIT') throw new Error('database or disk is full');
  };
  expect(() => migrate(c, file, true)).toThrow('database or disk is full');
  c.script = script;
  expect(c.database.isTransaction).toBe(false);
  expect(migrate(c, file, true)).toMatchObject({ from: 0 });
  c.close();
});

it('gives up a whole group when the disk is full in the middle of it, and goes on when there is room', async () => {
  const c = new Connection(file);
  c.script('PRAGMA journal_mode = WAL');
  migrate(c, file, true);
  const queue = new CommandQueue(
    new SqliteGroup(c, () => clock.wall(), new KeptFiles(file, c, () => clock.now())),
  );
  const { page_count: pages } = c.get('PRAGMA page_count') as { page_count: number };
  c.script(`PRAGMA max_page_count = ${pages + 20}`);
  const done = await Promise.allSettled([
    queue.run((tx) => put(tx, { idempotencyKey: 'a' })),
    queue.run((tx) => put(tx, { idempotencyKey: 'b' }, JSON.stringify('x'.repeat(200_000)))),
    queue.run((tx) => put(tx, { idempotencyKey: 'c' })),
  ]);
  for (const one of done)
    expect(one).toMatchObject({ status: 'rejected', reason: { code: 'UNAVAILABLE' } });
  expect(c.database.isTransaction).toBe(false);
  expect(c.get('SELECT count(*) AS n FROM tasks')).toEqual({ n: 0 });
  c.script('PRAGMA max_page_count = 100000');
  await queue.run((tx) => put(tx));
  expect(c.get('SELECT count(*) AS n FROM tasks')).toEqual({ n: 1 });
  c.close();
});

it('refuses a whole group that cannot be made durable, and goes on with the next', async () => {
  let full = true;
  const undone: string[] = [];
  const queue = new CommandQueue<string>({
    begin() {},
    command: async (work) => ({
      value: await work('tx'),
      notes: [{ kind: 'drain', project: 'p', workerId: 'w' }],
    }),
    commit() {
      if (full) throw new Error('database or disk is full');
      return true;
    },
    rollback: () => void undone.push('rollback'),
  });
  const notes: unknown[] = [];
  queue.subscribe((some) => notes.push(...some));
  const both = await Promise.allSettled([queue.run(async () => 1), queue.run(async () => 2)]);
  for (const one of both)
    expect(one).toMatchObject({
      status: 'rejected',
      reason: {
        code: 'UNAVAILABLE',
        retryable: true,
        message: expect.stringContaining('disk is full'),
      },
    });
  expect(undone).toEqual(['rollback']);
  expect(notes).toEqual([]);
  full = false;
  expect(await queue.run(async () => 3)).toBe(3);
  expect(notes).toHaveLength(1);
  expect(queue.stats).toEqual({ commits: 1, commands: 1, failures: 1 });
});
