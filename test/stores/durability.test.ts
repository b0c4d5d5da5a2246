import {
  existsSync,
  fstatSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import { makeId } from '../../src/contract/index.ts';
import { submitTask } from '../../src/core/task.ts';
import type { Note, Store, TaskRow } from '../../src/ports/store.ts';
import { openDataFolder } from '../../src/stores/data-folder.ts';
import type { StoreLoss } from '../../src/stores/sqlite/kept-files.ts';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import { inserted } from './inserted.ts';

/** Nothing leaves the store before the disk has it: what it answers, what it announces, and what it lets others read. */

let folder: string;
let file: string;
let store: Store;
const clock = new SimulatedClock();
const random = new SimulatedRandom(3);
const losses: StoreLoss[] = [];

/** A disk that is done when it is told so. */
const syncs: { readonly done: () => void; readonly fail: (error: Error) => void }[] = [];
const disk = () =>
  new Promise<void>((resolve, reject) => syncs.push({ done: resolve, fail: reject }));
const sync = () => {
  const [one] = syncs.splice(0, 1);
  if (!one) throw new Error('The disk was not asked for anything');
  return one;
};

const open = (more: object = {}) =>
  openSqliteStore({
    file,
    clock,
    random,
    sync: disk,
    onLoss: (loss) => losses.push(loss),
    ...more,
  });
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'interlock-durable-'));
  file = join(folder, 'test.db');
  losses.length = 0;
  store = open();
});
afterEach(async () => {
  const closed = store.close();
  for (const one of syncs.splice(0)) one.done();
  await closed;
  rmSync(folder, { recursive: true, force: true });
});

function submit(to = store): Promise<TaskRow> {
  return to.write(async (tx) => {
    const id = makeId('tsk', tx.nowMs, random.bytes(10));
    const request = { type: 'demo/hello', schemaVersion: 1, input: 1 };
    const { task } = submitTask(tx.nowMs, request, { id, project: 'p', by: 'key:k' });
    const facts = { dueAtMs: undefined, attention: false, rank: task.createdAtMs, inputJson: '1' };
    const row = await inserted(tx, task, facts);
    tx.announce({ kind: 'drain', project: 'p', workerId: id });
    return row;
  });
}

/** What has become of a promise by now; all that can go on by itself has. */
async function state(promise: Promise<unknown>): Promise<string> {
  promise.catch(() => {});
  for (let i = 0; i < 5; i++) await turn();
  const open = Symbol();
  try {
    return (await Promise.race([promise, open])) === open ? 'open' : 'done';
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

async function kept(): Promise<TaskRow> {
  const row = submit();
  expect(await state(row)).toBe('open');
  sync().done();
  return row;
}

const count = async (from = store) => (await from.tasks({ project: 'p', limit: 100 })).rows.length;

it('answers and announces a commit when it is durable', async () => {
  const notes: Note[] = [];
  const early: Note[] = [];
  store.subscribe(
    (some) => notes.push(...some),
    (some) => early.push(...some),
  );
  const submitted = submit();
  expect(await state(submitted)).toBe('open');
  expect(store.stats.commits).toBe(1);
  expect(notes).toEqual([]);
  // Who may be told sooner.
  expect(early).toHaveLength(1);
  sync().done();
  expect(await state(submitted)).toBe('done');
  expect(notes).toEqual(early);
});

it('takes all that comes while the disk is busy into the next commit, and one sync covers it', async () => {
  const first = submit();
  expect(await state(first)).toBe('open');
  const later: Promise<TaskRow>[] = [];
  for (let i = 0; i < 10; i++) {
    later.push(submit());
    await turn();
  }
  expect(store.stats.commits).toBe(1);
  expect(syncs).toHaveLength(1);
  sync().done();
  expect(await state(first)).toBe('done');
  expect(store.stats.commits).toBe(2);
  for (const one of later) expect(await state(one)).toBe('open');
  sync().done();
  for (const one of later) expect(await state(one)).toBe('done');
  expect(syncs).toHaveLength(0);
});

it('lets a command that keeps nothing wait for what it may have seen', async () => {
  const submitted = submit();
  expect(await state(submitted)).toBe('open');
  const looked = store.write((tx) => tx.tasks({ project: 'p', limit: 1 }));
  expect(await state(looked)).toBe('open');
  sync().done();
  expect(await state(looked)).toBe('done');
  expect(store.stats.commits).toBe(1);
});

it('lets those who repeat a commit wait for it that was refused since its files could not be looked at', async () => {
  await kept();
  // What `stat` says of such a folder passes, and SQLite has its files open.
  const away = `${folder}-away`;
  renameSync(folder, away);
  symlinkSync(folder, folder);
  const refused = submit();
  expect(await state(refused)).toBe('UNAVAILABLE');
  unlinkSync(folder);
  renameSync(away, folder);
  expect(store.lost).toBeUndefined();
  const repeated = store.write((tx) => tx.tasks({ project: 'p', limit: 10 }));
  const read = count();
  expect(await state(repeated)).toBe('open');
  expect(await state(read)).toBe('open');
  sync().done();
  expect((await repeated).rows).toHaveLength(2);
  expect(await read).toBe(2);
});

it('waits for the disk before it is closed', async () => {
  const submitted = submit();
  expect(await state(submitted)).toBe('open');
  const closed = store.close();
  expect(await state(closed)).toBe('open');
  sync().done();
  expect(await state(closed)).toBe('done');
  expect(await state(submitted)).toBe('done');
});

describe('a read', () => {
  it('of a task that was written waits until that is durable, one of another task does not', async () => {
    const row = await kept();
    const other = await kept();
    const written = store.write(async (tx) => {
      await tx.saveTask(row, { ...row.task, seq: 2 }, { dueAtMs: undefined, attention: false });
      await tx.addEvents(row.ref, 2, [{ kind: 'submitted', by: 'key:k', data: {} }]);
    });
    expect(await state(written)).toBe('open');
    const reads = (of: TaskRow) => [
      store.task('p', of.task.id),
      store.latestAttempt({ ...of, task: { ...of.task, attemptId: 'att_none' } }),
      store.payload(of.ref, 'result'),
      store.events(of.ref, 0, 10),
      store.logs(of.ref, 0, 10),
      store.action(of.ref, 'a'),
    ];
    for (const read of reads(other)) expect(await state(read)).toBe('done');
    const waiting = [...reads(row), store.tasks({ project: 'p', limit: 1 }), store.queue('p')];
    for (const read of waiting) expect(await state(read)).toBe('open');
    // Who asks for a key waits for keys only.
    for (const read of [store.keyByHash('h'), store.countKeys(), store.task('p', 'tsk_none')])
      expect(await state(read)).toBe('done');
    sync().done();
    for (const read of waiting) expect(await state(read)).toBe('done');
    expect((await store.task('p', row.task.id))?.task.seq).toBe(2);
  });

  it('of a key waits for what was written of keys', async () => {
    const written = store.write((tx) =>
      tx.insertKey({
        id: 'key_1',
        project: 'p',
        name: 'k',
        kind: 'admin',
        hash: 'h',
        createdAtMs: 0,
      }),
    );
    expect(await state(written)).toBe('open');
    const read = store.keyByHash('h');
    expect(await state(read)).toBe('open');
    sync().done();
    expect((await read)?.id).toBe('key_1');
  });

  it('by a second process syncs the log itself, since it knows nothing of the commits of the first', async () => {
    const submitted = submit();
    expect(await state(submitted)).toBe('open');
    const visitor = open({ migrates: false });
    const seen = count(visitor);
    expect(await state(seen)).toBe('open');
    expect(syncs).toHaveLength(2);
    syncs.pop()?.done();
    expect(await seen).toBe(1);
    await visitor.close();
  });
});

describe('a disk that could not keep a commit', () => {
  const broken = Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });

  it('ends all: what it covered, what waited for it and what comes later is refused in words', async () => {
    const row = await kept();
    const notes: Note[] = [];
    store.subscribe((some) => notes.push(...some));
    const covered = submit();
    expect(await state(covered)).toBe('open');
    const begun = submit();
    const read = count();
    expect(await state(begun)).toBe('open');
    const refused = Promise.allSettled([covered, begun, read]);
    sync().fail(broken);
    await refused;
    for (const one of [covered, begun, read]) expect(await state(one)).toBe('UNAVAILABLE');
    expect(await state(submit())).toBe('UNAVAILABLE');
    expect(await state(store.task('p', row.task.id))).toBe('UNAVAILABLE');
    expect(await state(store.nowMs())).toBe('UNAVAILABLE');
    await expect(covered).rejects.toMatchObject({
      retryable: true,
      message: expect.stringMatching(/could not keep.*EIO.*What was acknowledged was on the disk/s),
      hint: expect.stringContaining('start it anew'),
    });
    expect(store.lost).toBe('disk');
    expect(losses).toHaveLength(1);
    expect(losses[0]).toMatchObject({ rescued: false, inLog: true });
    expect(notes).toEqual([]);
    expect(syncs).toEqual([]);
    expect(store.stats.failures).toBeGreaterThan(0);

    await store.close();
    store = open();
    expect((await store.task('p', row.task.id))?.task.id).toBe(row.task.id);
    const again = submit();
    expect(await state(again)).toBe('open');
    sync().done();
    expect(await state(again)).toBe('done');
  });

  it('leaves a data folder that can be opened, whether its log could be folded in or not', async () => {
    const data = join(folder, 'data');
    const opened = () => openDataFolder(data, { clock, random, as: 'owner', sync: disk });
    let one = opened();
    const submitted = submit(one.store);
    expect(await state(submitted)).toBe('open');
    sync().fail(broken);
    expect(await state(submitted)).toBe('UNAVAILABLE');
    await one.close();
    expect(existsSync(join(data, 'control-plane.db-wal'))).toBe(false);
    one = opened();
    expect(one.loss).toBeUndefined();
    await one.close();
  });
});

it('syncs the log that SQLite writes', async () => {
  const synced: number[] = [];
  const second = open({
    sync: (fd: number) => {
      synced.push(fstatSync(fd).ino);
      return undefined;
    },
  });
  await submit(second);
  expect(synced).toEqual([statSync(`${file}-wal`).ino]);
  await second.close();
});
