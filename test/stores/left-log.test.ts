import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import { Connection } from '../../src/stores/sqlite/connection.ts';
import { keepLeftLog, leftLog } from '../../src/stores/sqlite/left-log.ts';
import { openSqliteStore } from '../../src/stores/sqlite.ts';

/** What a killed process left in the log is on the disk before anything is built upon it, even where a sync had failed. */

let folder: string;
let file: string;
let wal: string;
const open: { close(): unknown }[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'interlock-left-'));
  file = join(folder, 'killed.db');
  wal = `${file}-wal`;
});
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
  rmSync(folder, { recursive: true, force: true });
});
const opened = <T extends { close(): unknown }>(one: T): T => {
  open.push(one);
  return one;
};
const options = { clock: new SimulatedClock(), random: new SimulatedRandom(3) };

/** As the end of a process leaves it: two files, nothing folded in. */
async function killed(): Promise<void> {
  const alive = join(folder, 'alive.db');
  const store = openSqliteStore({ ...options, file: alive });
  await store.write((tx) =>
    tx.insertKey({
      id: 'key_1',
      project: 'p',
      name: 'k',
      kind: 'admin',
      hash: 'h',
      createdAtMs: 0,
    }),
  );
  for (const end of ['', '-wal']) copyFileSync(alive + end, file + end);
  await store.close();
}

it('is in the database itself after a start, and the log begins anew', async () => {
  await killed();
  expect(leftLog(file)).toBe(true);
  const store = opened(openSqliteStore({ ...options, file }));
  expect(statSync(wal).size).toBe(0);
  const alone = join(folder, 'alone.db');
  copyFileSync(file, alone);
  const database = opened(new DatabaseSync(alone));
  expect(database.prepare('SELECT id FROM keys').all()).toEqual([{ id: 'key_1' }]);
  expect((await store.keyById('key_1'))?.id).toBe('key_1');
});

it('is written once more where somebody reads who keeps it from being folded in', async () => {
  await killed();
  const reader = opened(new DatabaseSync(file));
  reader.exec('BEGIN; SELECT count(*) FROM keys');
  const bytes = readFileSync(wal);
  utimesSync(wal, 1, 1);
  const c = opened(new Connection(file));
  c.script('PRAGMA busy_timeout = 5000');
  keepLeftLog(c, file);
  expect(statSync(wal).mtimeMs).toBeGreaterThan(1_000);
  expect(readFileSync(wal).equals(bytes)).toBe(true);
  expect(c.get('PRAGMA busy_timeout')).toEqual({ timeout: 5_000 });
  expect(c.database.isTransaction).toBe(false);
});

it('is refused in words where another program goes on writing', async () => {
  await killed();
  const writer = opened(new DatabaseSync(file));
  writer.exec('BEGIN IMMEDIATE');
  const c = opened(new Connection(file));
  expect(() => keepLeftLog(c, file)).toThrow(
    expect.objectContaining({
      code: 'DATA_UNUSABLE',
      message: expect.stringMatching(/killed\.db-wal cannot be made durable.*locked/),
      hint: expect.stringContaining('then start it again'),
    }),
  );
});

it('is nothing after an end in order, nor at a first start', async () => {
  expect(leftLog(file)).toBe(false);
  const store = openSqliteStore({ ...options, file });
  expect(statSync(wal).size).toBeGreaterThan(0);
  await store.close();
  expect(existsSync(wal)).toBe(false);
  expect(leftLog(file)).toBe(false);
});
