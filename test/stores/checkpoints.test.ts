import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  beginThread,
  Checkpoints,
  foldBeside,
  foldInside,
} from '../../src/stores/sqlite/checkpoints.ts';
import { Connection } from '../../src/stores/sqlite/connection.ts';

/** The log is folded into the database beside those who write, and does not grow without end. */

let folder: string;
let file: string;
let c: Connection;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'interlock-checkpoints-'));
  file = join(folder, 'test.db');
  c = new Connection(file);
  c.script(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x)',
  );
});
afterEach(() => {
  c.close();
  rmSync(folder, { recursive: true, force: true });
});

const log = () => c.get('PRAGMA wal_checkpoint(NOOP)') as { log: number; checkpointed: number };
/** Commits until the log has so many frames. */
function writeUntil(frames: number): void {
  while (log().log < frames) c.run('INSERT INTO t VALUES (zeroblob(400000))');
}

/** A folding that is done when it is told so. */
function folding() {
  const inside = foldInside(c);
  const asked: (() => Promise<void>)[] = [];
  return {
    asked,
    fold: () =>
      new Promise<void>((resolve) => {
        asked.push(async () => resolve(await inside.fold()));
      }),
    close: async () => {},
  };
}
const LENGTHS = { ready: 100, start: 1_000, most: 2_000, idle: 250 };
const settled = () => new Promise((resolve) => setImmediate(resolve));

it('begins while others write, and pauses them for the rest alone; then the log begins anew', async () => {
  const slow = folding();
  const checkpoints = new Checkpoints(c, slow, LENGTHS);
  writeUntil(500);
  checkpoints.look();
  expect(slow.asked).toHaveLength(0);
  writeUntil(1_000);
  checkpoints.look();
  expect(slow.asked).toHaveLength(1);
  expect(checkpoints.pause).toBeUndefined();
  writeUntil(1_500);
  checkpoints.look();
  expect(slow.asked).toHaveLength(1);
  expect(checkpoints.pause).toBeUndefined();
  await slow.asked[0]?.();
  writeUntil(1_700);
  await settled();
  const { pause } = checkpoints;
  expect(pause).toBeDefined();
  await slow.asked[1]?.();
  await pause;
  expect(checkpoints.pause).toBeUndefined();
  c.run('INSERT INTO t VALUES (1)');
  expect(log().log).toBeLessThan(10);
  await checkpoints.close();
});

it('has its thread made ready long before the first fold, once', async () => {
  let readied = 0;
  const slow = { ...folding(), ready: () => void readied++ };
  const checkpoints = new Checkpoints(c, slow, LENGTHS);
  checkpoints.look();
  expect(readied).toBe(0);
  for (const frames of [LENGTHS.ready, 200, 300]) {
    writeUntil(frames);
    checkpoints.look();
    expect(readied).toBe(1);
  }
  expect(slow.asked).toHaveLength(0);
});

it('begins behind the sync of the log that is under way', async () => {
  const slow = folding();
  const checkpoints = new Checkpoints(c, slow, LENGTHS);
  writeUntil(1_000);
  let synced = () => {};
  const durable = new Promise<void>((resolve) => {
    synced = resolve;
  });
  checkpoints.look(durable);
  await settled();
  expect(slow.asked).toHaveLength(0);
  synced();
  await settled();
  expect(slow.asked).toHaveLength(1);
  const closed = checkpoints.close();
  await slow.asked[0]?.();
  await settled();
  await slow.asked[1]?.();
  await closed;
});

it('are looked for after some commits only, and at once for the rest of one', async () => {
  const slow = folding();
  const checkpoints = new Checkpoints(c, slow, LENGTHS);
  writeUntil(1_000);
  const commits = async (n: number) => {
    for (let i = 0; i < n; i++) checkpoints.committed();
    await settled();
  };
  await commits(3);
  expect(slow.asked).toHaveLength(0);
  await commits(1);
  expect(slow.asked).toHaveLength(1);
  c.script('BEGIN IMMEDIATE');
  await slow.asked[0]?.();
  await settled();
  c.script('COMMIT');
  await commits(1);
  expect(slow.asked).toHaveLength(2);
  await slow.asked[1]?.();
  await checkpoints.pause;
});

it('waits for a transaction that is open before it folds the rest', async () => {
  const slow = folding();
  const checkpoints = new Checkpoints(c, slow, LENGTHS);
  writeUntil(1_000);
  checkpoints.look();
  c.script('BEGIN IMMEDIATE');
  c.run('INSERT INTO t VALUES (1)');
  await slow.asked[0]?.();
  await settled();
  expect(checkpoints.pause).toBeUndefined();
  c.script('COMMIT');
  checkpoints.look();
  const { pause } = checkpoints;
  expect(pause).toBeDefined();
  await slow.asked[1]?.();
  await pause;
  c.run('INSERT INTO t VALUES (1)');
  expect(log().log).toBeLessThan(10);
  await checkpoints.close();
});

it('pauses those who write faster than the disk folds', async () => {
  const slow = folding();
  const checkpoints = new Checkpoints(c, slow, LENGTHS);
  writeUntil(1_000);
  checkpoints.look();
  writeUntil(2_000);
  checkpoints.look();
  const { pause } = checkpoints;
  expect(pause).toBeDefined();
  await slow.asked[0]?.();
  await settled();
  await slow.asked[1]?.();
  await pause;
  expect(checkpoints.pause).toBeUndefined();
});

it('lets them go on where a reader holds on to the log, and tries again when it has grown', async () => {
  const slow = folding();
  const checkpoints = new Checkpoints(c, slow, LENGTHS);
  const reader = new Connection(file);
  reader.script('BEGIN; SELECT count(*) FROM t');
  writeUntil(1_000);
  checkpoints.look();
  await slow.asked[0]?.();
  await settled();
  await slow.asked[1]?.();
  await settled();
  expect(checkpoints.pause).toBeUndefined();
  writeUntil(1_200);
  checkpoints.look();
  expect(slow.asked).toHaveLength(2);
  writeUntil(log().log + 1_000);
  checkpoints.look();
  expect(slow.asked).toHaveLength(3);
  reader.close();
});

it('folds a long log at rest, leaves a short one, and keeps the file for what comes', async () => {
  const slow = folding();
  const checkpoints = new Checkpoints(c, slow, LENGTHS);
  writeUntil(200);
  expect(checkpoints.rest()).toBe(true);
  writeUntil(300);
  const { size } = statSync(`${file}-wal`);
  expect(checkpoints.rest()).toBe(false);
  expect(checkpoints.rest()).toBe(false);
  expect(slow.asked).toHaveLength(1);
  await slow.asked[0]?.();
  await checkpoints.pause;
  expect(checkpoints.rest()).toBe(true);
  expect(log().checkpointed).toBe(log().log);
  expect(statSync(`${file}-wal`).size).toBe(size);
});

it('folds in a thread of its own, made ready or not, and by itself where that has ended', async () => {
  writeUntil(300);
  let instead = 0;
  let begun = 0;
  const beside = foldBeside(
    file,
    { fold: async () => void instead++, close: async () => {} },
    (name) => {
      begun++;
      return beginThread(name);
    },
  );
  beside.ready?.();
  expect(begun).toBe(1);
  await beside.fold();
  expect(begun).toBe(1);
  expect(log()).toMatchObject({ log: expect.any(Number) });
  expect(log().checkpointed).toBe(log().log);
  await beside.close();
  expect(instead).toBe(0);
  await beside.fold();
  expect(instead).toBe(1);
  const none = foldBeside(join(folder, 'none', 'test.db'), foldInside(c));
  writeUntil(300);
  await none.fold();
  expect(log().checkpointed).toBe(log().log);
  await none.close();
});

it('folds by itself where the process may have no more threads, and asks for one again the next time', async () => {
  let asked = 0;
  const beside = foldBeside(file, foldInside(c), () => {
    asked++;
    throw Object.assign(new Error('EAGAIN'), { code: 'ERR_WORKER_INIT_FAILED' });
  });
  const checkpoints = new Checkpoints(c, beside, LENGTHS);
  writeUntil(1_000);
  checkpoints.look();
  await settled();
  await checkpoints.pause;
  expect(log().checkpointed).toBe(log().log);
  await beside.fold();
  expect(asked).toBe(4);
  await checkpoints.close();
});
