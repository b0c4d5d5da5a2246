import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { makeId } from '../../src/contract/index.ts';
import { submitTask } from '../../src/core/task.ts';
import { claimTask } from '../../src/core/task-claim.ts';
import type { Transaction } from '../../src/ports/store.ts';
import { CommandQueue } from '../../src/stores/command-queue.ts';
import { Connection } from '../../src/stores/sqlite/connection.ts';
import { SqliteGroup, sqliteReads } from '../../src/stores/sqlite/group.ts';
import { KeptFiles } from '../../src/stores/sqlite/kept-files.ts';
import { migrate } from '../../src/stores/sqlite/migrate.ts';
import { earlierVersion } from './earlier-version.ts';
import { inserted } from './inserted.ts';

/** Texts that many rows have in common stand once, and are read as they were written. */

let folder: string;
let c: Connection;
let other: Connection;
let queue: CommandQueue<Transaction>;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'interlock-texts-'));
  const file = join(folder, 'test.db');
  c = opened(file);
  migrate(c, file, true);
  other = new Connection(file);
  queue = queueOf(c, file);
});
afterEach(() => {
  c.close();
  other.close();
  rmSync(folder, { recursive: true, force: true });
});

function opened(file: string): Connection {
  const made = new Connection(file);
  made.script('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF');
  return made;
}

const clock = new SimulatedClock();
const queueOf = (of: Connection, file: string) =>
  new CommandQueue(new SqliteGroup(of, () => clock.wall(), new KeptFiles(file, of, () => 0)));

const facts = { dueAtMs: undefined, attention: false };
let ids = 0;

interface Told {
  readonly by?: string;
  readonly leaseMs?: number;
  readonly effectKey?: string;
  readonly sessionId?: string;
}

/** A task that was submitted and claimed. @returns its id. */
async function claimed(tx: Transaction, told: Told = {}): Promise<string> {
  const { by = 'key:key_of_a_producer', leaseMs = 30_000, effectKey } = told;
  const chance = () => new Uint8Array(10).fill(++ids);
  const { task, events } = submitTask(
    tx.nowMs,
    { type: 'demo/hello', schemaVersion: 1, input: 1, policy: { leaseMs }, effectKey },
    { id: makeId('tsk', tx.nowMs, chance()), project: 'p', by },
  );
  const row = await inserted(tx, task, { ...facts, rank: task.createdAtMs, inputJson: '1' });
  await tx.addEvents(row.ref, 1, events);
  const change = claimTask(tx.nowMs, task, {
    attemptId: makeId('att', tx.nowMs, chance()),
    ...{ workerId: 'w', sessionId: told.sessionId ?? 'session-1', leaseMs },
    ...{ effectSafety: 'pure', effectGate: 'start' },
  });
  if (!change.task || !change.attempt) throw new Error('it was not claimed');
  await tx.insertAttempt(row, change.attempt);
  await tx.saveTask(row, change.task, facts);
  await tx.addEvents(row.ref, 1 + events.length, change.events);
  return task.id;
}

/** As a connection finds it that has written nothing of it. */
async function seen(id: string, by = other) {
  const reads = sqliteReads(by);
  const row = await reads.task('p', id);
  if (!row) throw new Error('it is not there');
  const attempt = await reads.latestAttempt(row);
  const events = await reads.events(row.ref, 0, 9);
  return {
    ...{ leaseMs: row.task.policy.leaseMs, effectKey: row.task.effectKey },
    ...{ sessionId: attempt?.attempt.sessionId, by: events[0]?.by },
    said: events.map(({ attemptId, data }) => ({ attemptId, data })),
  };
}

const texts = () => other.allValues('SELECT text FROM texts ORDER BY ref').map(([text]) => text);

it('hold what a second row brings, and leave with a row what only that one has', async () => {
  const shared = [];
  for (let i = 0; i < 3; i++) shared.push(await queue.run((tx) => claimed(tx)));
  const own = { by: 'key:key_of_another', leaseMs: 77_777, sessionId: 'session-of-one' };
  const alone = await queue.run((tx) => claimed(tx, { ...own, effectKey: 'order-4711' }));

  const attempt = expect.stringMatching(/^att_/);
  for (const id of shared)
    expect(await seen(id)).toEqual({
      ...{ leaseMs: 30_000, effectKey: id, sessionId: 'session-1', by: 'key:key_of_a_producer' },
      said: [
        { attemptId: undefined, data: expect.objectContaining({ type: 'demo/hello' }) },
        { attemptId: attempt, data: expect.objectContaining({ leaseMs: 30_000 }) },
      ],
    });
  expect(await seen(alone)).toMatchObject({ ...own, effectKey: 'order-4711' });
  const [first, , last] = other.allValues('SELECT policy, effect_key FROM tasks ORDER BY ref');
  expect(first?.[0]).toContain('{"maxAttempts"');
  expect(last).toEqual([expect.stringMatching(/^#\d+$/), '']);
  expect(texts().join()).not.toMatch(/77777|another|session-of-one/);
  expect(new Set(texts()).size).toBe(texts().length);
});

it('are not referred to once their row was undone', async () => {
  await queue.run((tx) => claimed(tx));
  const fails = queue.run(async (tx) => {
    await claimed(tx);
    throw new Error('no');
  });
  await expect(fails).rejects.toThrow('no');
  expect(texts()).toEqual([]);
  // Another one takes the refs that were free again.
  other.run("INSERT INTO texts (text) VALUES ('of another process')");
  const id = await queue.run((tx) => claimed(tx));
  expect(await seen(id)).toMatchObject({ leaseMs: 30_000, sessionId: 'session-1' });
});

it('are read as they were written where they look like a ref, alone and in common', async () => {
  const ids = [];
  for (let i = 0; i < 3; i++)
    ids.push(await queue.run((tx) => claimed(tx, { by: '#1', sessionId: '##of-a-session' })));
  for (const id of ids)
    expect(await seen(id)).toMatchObject({ by: '#1', sessionId: '##of-a-session' });
});

it('are found where another process has put them', async () => {
  const first = await queue.run((tx) => claimed(tx));
  const there = queueOf(other, join(folder, 'test.db'));
  for (let i = 0; i < 2; i++) await there.run((tx) => claimed(tx));
  const many = texts().length;
  const mine = await queue.run((tx) => claimed(tx));
  expect(texts()).toHaveLength(many);
  for (const id of [first, mine])
    expect(await seen(id)).toMatchObject({ leaseMs: 30_000, by: 'key:key_of_a_producer' });
});

it('leave what an older database holds in place, also where it looks like a ref', async () => {
  const file = join(folder, 'old.db');
  const old = opened(file);
  try {
    old.script(earlierVersion(5));
    const id = await queue.run((tx) => claimed(tx, { effectKey: 'order-4711' }));
    for (const table of ['tasks', 'attempts', 'events']) {
      const columns = old.all(`PRAGMA table_info(${table})`).map(({ name }) => name);
      for (const row of c.allValues(`SELECT ${columns.join(', ')} FROM ${table}`))
        old.run(`INSERT INTO ${table} VALUES (${row.map(() => '?').join(', ')})`, ...(row as []));
    }
    const before = await seen(id);
    old.script(
      "UPDATE attempts SET session_id = '#1'; UPDATE events SET attempt_id = (SELECT id FROM attempts) WHERE attempt_id IS NOT NULL",
    );
    migrate(old, file, true);
    for (let i = 0; i < 2; i++) await queueOf(old, file).run((tx) => claimed(tx));
    expect(await seen(id, old)).toEqual({ ...before, sessionId: '#1' });
  } finally {
    old.close();
  }
});
