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
import { CommandQueue } from '../../src/stores/command-queue.ts';
import { Connection, type Value } from '../../src/stores/sqlite/connection.ts';
import { SqliteGroup, sqliteReads } from '../../src/stores/sqlite/group.ts';
import { KeptFiles } from '../../src/stores/sqlite/kept-files.ts';
import { migrate } from '../../src/stores/sqlite/migrate.ts';
import { runs } from '../property.ts';
import { earlierVersion } from './earlier-version.ts';
import { inserted } from './inserted.ts';

/** What the writer knows of rows without reading them is what is in the table, whatever has become of its commands. */

let folder: string;
let c: Connection;
let other: Connection;
let queue: CommandQueue<Transaction>;
let clock: SimulatedClock;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'interlock-known-'));
  const file = join(folder, 'test.db');
  clock = new SimulatedClock();
  c = new Connection(file);
  c.script('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF');
  migrate(c, file, true);
  other = new Connection(file);
  const files = new KeptFiles(file, c, () => clock.now());
  queue = new CommandQueue(new SqliteGroup(c, () => clock.wall(), files));
});
afterEach(() => {
  c.close();
  other.close();
  rmSync(folder, { recursive: true, force: true });
});

const facts = { dueAtMs: undefined, attention: false };
const pick = <T>(random: SimulatedRandom, from: readonly T[]) =>
  from[random.below(from.length)] as T;

/** A task that runs. @returns ids of its attempt. */
async function running(tx: Transaction, random: SimulatedRandom): Promise<string> {
  const { task } = submitTask(
    tx.nowMs,
    {
      ...{ type: `demo/${1 + random.below(2)}`, schemaVersion: 1, input: 1 },
      // Of the first all others are alike, of the second none.
      policy: pick(random, [{ maxAttempts: 3 }, { leaseMs: 10_000 + random.below(1_000_000) }]),
    },
    { id: makeId('tsk', tx.nowMs, random.bytes(10)), project: 'p', by: 'key:k' },
  );
  const row = await inserted(tx, task, { ...facts, rank: task.createdAtMs, inputJson: '1' });
  const change = claimTask(tx.nowMs, task, {
    ...{ workerId: 'w', sessionId: pick(random, ['#1', '#session-1', 'session-2']) },
    attemptId: makeId('att', tx.nowMs, random.bytes(10)),
    effectSafety: 'pure',
    effectGate: 'start',
    leaseMs: 30_000,
  });
  if (!change.task || !change.attempt) throw new Error('it was not claimed');
  await tx.insertAttempt(row, change.attempt);
  await tx.saveTask(row, change.task, facts);
  await tx.addEvents(row.ref, 1, change.events);
  return change.attempt.id;
}

/** Changes something of a task and sees it at once, in whatever way it looks. */
async function changed(tx: Transaction, id: string, random: SimulatedRandom): Promise<void> {
  const found = await tx.attempt('p', id);
  if (!found) throw new Error('it is not there');
  const { task } = found.row;
  const status = pick(random, ['queued', 'running', 'running', 'succeeded', 'failed'] as const);
  const error = { code: 'x', message: `${1 + random.below(9)}`, retryable: true };
  const saved = await tx.saveTask(
    found.row,
    {
      ...task,
      status,
      seq: task.seq + 1,
      workerId: status === 'running' ? 'w' : undefined,
      error: random.chance(0.3) ? error : undefined,
      resultJson: status === 'succeeded' ? '{}' : undefined,
    },
    { dueAtMs: 1 + random.below(5), attention: random.chance(0.3) },
  );
  const { attempt } = found.attempt;
  await tx.saveAttempt(found.attempt, {
    ...attempt,
    leaseUntilMs: attempt.leaseUntilMs + 1,
    endedAtMs: status === 'running' ? undefined : tx.nowMs,
  });
  if (random.chance(0.3)) await tx.saveDue(saved, 1 + random.below(5));
  if (random.chance(0.3)) await tx.makeAvailable(3);
  const again = await tx.attempt('p', id);
  expect(again?.row.task).toEqual(saved.task);
  if (random.chance(0.2)) {
    const { rows } = await tx.tasks({ project: 'p', statuses: [status], limit: 500 });
    expect(rows.find(({ ref }) => ref === saved.ref)?.task.seq).toBe(task.seq + 1);
  }
}

/** Rows, counts and open attempts as a connection finds them that knows nothing. */
async function asItIs(ids: readonly string[]) {
  const reads = sqliteReads(other);
  const counted = other.all(
    `SELECT type, sum(status = 'queued') AS queued, sum(status = 'running') AS running FROM tasks GROUP BY type
     HAVING queued + running > 0 ORDER BY type`,
  );
  return {
    rows: (await Promise.all(ids.map((id) => reads.attempt('p', id)))).map(
      // Read along, and not kept.
      (found) => found && { ...found, row: { ...found.row, inputJson: undefined } },
    ),
    counts: counted.map((row) => ({ ...row })),
  };
}

/** The next commit fails, once. */
function failCommit(): void {
  const step = c.step.bind(c);
  c.step = (sql) => {
    if (sql === 'COMMIT') {
      c.step = step;
      throw new Error('disk I/O error');
    }
    step(sql);
  };
}

it.each(Array.from({ length: runs(12) }, (_, seed) => seed))(
  'holds for commands that fail, are run again or follow another process, and for commits that fail (%i)',
  async (seed) => {
    const random = new SimulatedRandom(seed);
    const ids: string[] = [];
    for (let round = 0; round < 12; round++) {
      if (random.chance(0.15)) failCommit();
      const made: Promise<string>[] = [];
      const commands: Promise<unknown>[] = [];
      for (let n = 1 + random.below(6); n > 0; n--) {
        const kind = random.fraction();
        if (kind < 0.3) {
          const one = queue.run((tx) => running(tx, random));
          made.push(one);
          commands.push(one);
        } else
          commands.push(
            queue.run(async (tx) => {
              if (kind < 0.4) throw new Error('before it has written');
              for (let i = 1 + random.below(4); i > 0 && ids.length > 0; i--)
                await changed(tx, pick(random, ids), random);
              if (kind < 0.5) throw new Error('after it has written');
            }),
          );
      }
      for (const done of await Promise.allSettled(commands))
        if (done.status === 'rejected')
          expect((done.reason as Error).message).toMatch(/it has written|disk I\/O error/);
      for (const done of await Promise.allSettled(made))
        if (done.status === 'fulfilled') ids.push(done.value);
      if (random.chance(0.2))
        other.run('UPDATE tasks SET seq = seq + 100 WHERE ref % 2 = ?', round % 2);
      const known = await queue.run((tx) => Promise.all(ids.map((id) => tx.attempt('p', id))));
      const { rows, counts } = await asItIs(ids);
      expect(
        known.map((found) => found && { ...found, row: { ...found.row, inputJson: undefined } }),
      ).toEqual(rows);
      const told = await sqliteReads(other).queue('p');
      expect(
        told
          .map(({ type, queued, running: run }) => ({ type, queued, running: run }))
          .sort((a, b) => (a.type < b.type ? -1 : 1)),
      ).toEqual(counts);
    }
  },
);

it('reads nothing for reports on attempts that it has granted, and writes each row once', async () => {
  const random = new SimulatedRandom(1);
  const id = await queue.run((tx) => running(tx, random));
  const asked: string[] = [];
  for (const method of ['get', 'all', 'values', 'allValues', 'run', 'put'] as const) {
    const inner = c[method] as (sql: string, ...more: unknown[]) => unknown;
    Object.assign(c, {
      [method]: (sql: string, ...more: unknown[]) => {
        asked.push(sql);
        return inner.call(c, sql, ...more);
      },
    });
  }
  await queue.run(async (tx) => {
    for (const status of ['running', 'succeeded'] as const) {
      const found = await tx.attempt('p', id);
      if (!found) throw new Error('it is not there');
      const { task } = found.row;
      await tx.saveTask(found.row, { ...task, status, seq: task.seq + 1 }, facts);
      const { attempt } = found.attempt;
      await tx.saveAttempt(found.attempt, { ...attempt, startAccepted: true });
    }
  });
  const [version, ...rest] = asked;
  expect(version).toBe('PRAGMA data_version');
  expect(rest).toEqual([
    'UPDATE attempts SET start_accepted = ? WHERE ref = ?',
    'UPDATE tasks SET status = ?, seq = ? WHERE ref = ?',
    expect.stringContaining('INSERT INTO queue_counts'),
  ]);
});

it('goes on with the counts of an older database, which its triggers kept', async () => {
  const file = join(folder, 'old.db');
  const old = new Connection(file);
  try {
    old.script(earlierVersion(4));
    const random = new SimulatedRandom(1);
    const of = (db: Connection) =>
      new CommandQueue(new SqliteGroup(db, () => clock.wall(), new KeptFiles(file, db, () => 0)));
    await queue.run((tx) => running(tx, random));
    const columns = old.all('PRAGMA table_info(tasks)').map(({ name }) => name);
    const [row] = c.allValues(`SELECT ${columns.join(', ')} FROM tasks`) as Value[][];
    old.run(`INSERT INTO tasks VALUES (${columns.map(() => '?').join(', ')})`, ...(row ?? []));
    migrate(old, file, true);
    const sum = 'SELECT sum(queued) AS queued, sum(running) AS running FROM queue_counts';
    expect(old.get(sum)).toEqual({ queued: 0, running: 1 });
    await of(old).run(async (tx) => {
      const found = await tx.task('p', row?.[1] as string);
      if (!found) throw new Error('it is not there');
      await tx.saveTask(found, { ...found.task, status: 'succeeded' }, facts);
      await running(tx, random);
    });
    expect(old.get(sum)).toEqual({ queued: 0, running: 1 });
  } finally {
    old.close();
  }
});
