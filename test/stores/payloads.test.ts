import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { makeId } from '../../src/contract/index.ts';
import { submitTask } from '../../src/core/task.ts';
import type { TaskRow, Transaction } from '../../src/ports/store.ts';
import { CommandQueue } from '../../src/stores/command-queue.ts';
import { Connection } from '../../src/stores/sqlite/connection.ts';
import { SqliteGroup, sqliteReads } from '../../src/stores/sqlite/group.ts';
import { KeptFiles } from '../../src/stores/sqlite/kept-files.ts';
import { migrate } from '../../src/stores/sqlite/migrate.ts';
import { earlierVersion } from './earlier-version.ts';
import { inserted } from './inserted.ts';

/** Short inputs and results stand with their task, long ones apart: whoever asks gets the very text. */

const SHORT = '{"a":"\\u0000"}';
const LONG = JSON.stringify('x'.repeat(300));
const facts = { dueAtMs: undefined, attention: false };
let folder: string;
let c: Connection;
let queue: CommandQueue<Transaction>;
const clock = new SimulatedClock();
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'interlock-payloads-'));
  const file = join(folder, 'test.db');
  c = new Connection(file);
  queue = new CommandQueue(
    new SqliteGroup(c, () => clock.wall(), new KeptFiles(file, c, () => clock.now())),
  );
});
afterEach(() => {
  c.close();
  rmSync(folder, { recursive: true, force: true });
});

let made = 0;
const put = (tx: Transaction, inputJson: string) => {
  const id = makeId('tsk', tx.nowMs, Buffer.alloc(10, made++));
  const { task } = submitTask(
    tx.nowMs,
    { type: 'demo/hello', schemaVersion: 1, input: 1 },
    { id, project: 'p', by: 'key:k' },
  );
  return inserted(tx, task, { ...facts, rank: 1, inputJson });
};
const of = async (tx: Transaction, { task }: TaskRow) => (await tx.task('p', task.id)) as TaskRow;
const ended = (row: TaskRow, resultJson: string) =>
  queue.run(async (tx) => {
    const now = await of(tx, row);
    return tx.saveTask(now, { ...now.task, status: 'succeeded', resultJson }, facts);
  });
const counts = () =>
  ['inputs', 'results'].map((table) => c.get(`SELECT count(*) AS n FROM ${table}`)?.n);

it.each([
  [SHORT, SHORT, [0, 0]],
  [LONG, LONG, [1, 1]],
  [SHORT, LONG, [0, 1]],
  [LONG, SHORT, [1, 0]],
])(
  'are found with the task or apart, and stay through other changes (%#)',
  async (input, result, apart) => {
    migrate(c, join(folder, 'test.db'), true);
    const row = await queue.run((tx) => put(tx, input));
    expect(await sqliteReads(c).payload(row.ref, 'result')).toBeUndefined();
    await ended(row, result);
    // Another value takes the place of the first.
    await ended(row, LONG);
    await ended(row, result);
    await queue.run(async (tx) => {
      const now = await of(tx, row);
      await tx.saveTask(now, { ...now.task, seq: 9 }, facts);
      expect(await tx.payload(row.ref, 'input')).toBe(input);
    });
    expect(await sqliteReads(c).payload(row.ref, 'input')).toBe(input);
    expect(await sqliteReads(c).payload(row.ref, 'result')).toBe(result);
    expect(counts()[0]).toBe(apart[0]);
    const read = await sqliteReads(c).task('p', row.task.id);
    expect(read).toMatchObject({ task: { seq: 9, status: 'succeeded' } });
    // What is read along is the same text.
    expect(read?.inputJson ?? input).toBe(input);
    expect(read?.task.resultJson ?? result).toBe(result);
  },
);

it('of an older database are found where they stood, and a new result takes their place', async () => {
  const file = join(folder, 'test.db');
  c.script(earlierVersion(6));
  const here = new Connection(':memory:');
  migrate(here, ':memory:', true);
  const other = new CommandQueue(
    new SqliteGroup(here, () => clock.wall(), new KeptFiles(file, here, () => clock.now())),
  );
  const row = await other.run((tx) => put(tx, SHORT));
  await other.close();
  const columns = c.all('PRAGMA table_info(tasks)').map(({ name }) => name);
  const values = here.values(`SELECT ${columns.join(', ')} FROM tasks`) as [];
  here.close();
  c.run(`INSERT INTO tasks VALUES (${columns.map(() => '?').join(', ')})`, ...values);
  c.run('INSERT INTO inputs VALUES (?, ?)', row.ref, SHORT);
  c.run('INSERT INTO results VALUES (?, ?)', row.ref, '"old"');
  migrate(c, file, true);
  const reads = sqliteReads(c);
  expect(await reads.payload(row.ref, 'input')).toBe(SHORT);
  expect(await reads.payload(row.ref, 'result')).toBe('"old"');
  await ended(row, SHORT);
  expect(await reads.payload(row.ref, 'result')).toBe(SHORT);
  await ended(row, LONG);
  expect(await reads.payload(row.ref, 'result')).toBe(LONG);
});
