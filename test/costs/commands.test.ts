import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import { type Reply, World } from '../control-plane/world.ts';

/**
 * What the control plane's commands may cost, by counts that no busy machine changes: commits (each an fsync), SQL
 * statements and frames of the log (pages written) for each task. About a third above what was seen. A figure that is passed is a step that somebody added to each
 * task: take it out, or say here why it is worth it.
 */
const MOST = {
  // All calls of one moment share one commit; the second is room for a call that came into the next turn. The key is known.
  single: { commits: 2, statements: 4, frames: 0.4 },
  // One commit and one command; row and journal entry for each task, and a few for all of them.
  batch: { commits: 1, statements: 3, frames: 0.35 },
  // Whether there is one with its idempotency key is seen by the row that is put in.
  keyedBatch: { commits: 1, statements: 3, frames: 0.4 },
  // One commit; attempt, task, journal entry and what it reads for each.
  claim: { commits: 1, statements: 6, frames: 1.5 },
  // Task, attempt, result and journal entry of each are written; what was granted is known.
  reports: { commits: 2, statements: 5, frames: 0.4 },
  // The same without a command of its own for each.
  reportBatch: { commits: 1, statements: 5, frames: 0.4 },
  // A full claim, and the reports that go beside it from the same worker: one commit for both.
  claimAndReports: { commits: 1, statements: 10, frames: 0.7 },
  // Two reports of one attempt are kept as one change; one entry of the journal more.
  startedAndEnded: { commits: 1, statements: 6, frames: 0.65 },
} as const;

let world: World;
let folder: string;
let statements = 0;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'interlock-costs-'));
  const clock = new SimulatedClock({ wallMs: Date.UTC(2026, 0, 1) });
  const random = new SimulatedRandom(7);
  const store = openSqliteStore({ clock, random, file: join(folder, 'test.db') });
  world = await World.start({ clock, random, store });
  for (const method of ['run', 'get', 'all', 'iterate'] as const) count(StatementSync, method);
  count(DatabaseSync, 'exec');
});
afterEach(async () => {
  vi.restoreAllMocks();
  await world.app.stop();
  await world.store.close();
  rmSync(folder, { recursive: true, force: true });
});

function count(of: typeof StatementSync | typeof DatabaseSync, method: string): void {
  const place = of.prototype as unknown as Record<string, (...given: unknown[]) => unknown>;
  const inner = place[method] as (...given: unknown[]) => unknown;
  vi.spyOn(place, method).mockImplementation(function (this: unknown, ...given: unknown[]) {
    statements++;
    return inner.apply(this, given);
  });
}

/** Of the log; each is a page that a commit has written. */
function frames(): number {
  const c = new DatabaseSync(join(folder, 'test.db'));
  const { log } = c.prepare('PRAGMA wal_checkpoint(NOOP)').get() as { log: number };
  c.close();
  return log;
}

/** Does it twice: the first time opens keys, workers and statements. */
async function cost(
  what: keyof typeof MOST,
  tasks: number,
  prepare: () => Promise<Reply['body'][]>,
  work: (given: Reply['body'][]) => Promise<Reply | Reply[]>,
): Promise<void> {
  await work(await prepare());
  const given = await prepare();
  const before = world.store.stats.commits;
  const framesBefore = frames();
  statements = 0;
  for (const reply of [await work(given)].flat())
    expect(reply.status, reply.text).toBeLessThan(300);
  const commits = world.store.stats.commits - before;
  const each = statements / tasks;
  const written = (frames() - framesBefore) / tasks;

  expect(commits).toBeLessThanOrEqual(MOST[what].commits);
  expect(each).toBeLessThanOrEqual(MOST[what].statements);
  expect(written).toBeLessThanOrEqual(MOST[what].frames);
}

const task = (i: number) => ({ type: 'demo/hello', schemaVersion: 1, input: { i } });
const many = <T>(length: number, of: (i: number) => T): T[] =>
  Array.from({ length }, (_, i) => of(i));
const nothing = async () => [];

const wanted = (max: number) => ({
  want: [{ type: 'demo/hello', schemaVersion: 1, slots: max, effectSafety: 'pure' }],
  max,
});
async function claimed(): Promise<Reply['body'][]> {
  await world.call('POST', '/tasks/batch', { body: many(100, task) });
  return world.claim('w1', wanted(100));
}
const complete = ({ taskId, attemptId, fence, leaseToken }: Reply['body']) => ({
  ...{ op: 'complete', taskId, attemptId, fence, leaseToken },
  result: { ok: true },
});

it('a hundred submissions that come together share a commit', () =>
  cost('single', 100, nothing, () =>
    Promise.all(many(100, (i) => world.call('POST', '/tasks', { body: task(i) }))),
  ));

it('a batch of a hundred submissions is one commit', () =>
  cost('batch', 100, nothing, () => world.call('POST', '/tasks/batch', { body: many(100, task) })));

it('an idempotency key costs no statement', () => {
  let n = 0;
  const keyed = () => ({ ...task(n), idempotencyKey: `key ${n++}` });
  return cost('keyedBatch', 100, nothing, () =>
    world.call('POST', '/tasks/batch', { body: many(100, keyed) }),
  );
});

it('a claim of sixteen is one commit', () =>
  cost(
    'claim',
    16,
    async () => {
      await world.call('POST', '/tasks/batch', { body: many(16, task) });
      return [];
    },
    () => world.call('POST', '/claims', { body: world.claimBody('w1', wanted(16)) }),
  ));

it('a hundred reports that come together share a commit', () =>
  cost('reports', 100, claimed, (attempts) =>
    Promise.all(
      attempts.map((attempt) => world.report(attempt, 'complete', { result: { ok: true } })),
    ),
  ));

it('a batch of a hundred reports is one commit', () =>
  cost('reportBatch', 100, claimed, (attempts) =>
    world.call('POST', '/attempts/batch', { body: { reports: attempts.map(complete) } }),
  ));

it('a claim of a hundred and a batch of a hundred reports before it are one commit', () =>
  cost(
    'claimAndReports',
    100,
    async () => {
      const attempts = await claimed();
      await world.call('POST', '/tasks/batch', { body: many(100, task) });
      return attempts;
    },
    (attempts) =>
      Promise.all([
        world.call('POST', '/attempts/batch', { body: { reports: attempts.map(complete) } }),
        world.call('POST', '/claims', { body: world.claimBody('w1', wanted(100)) }),
      ]),
  ));

it('the late start of an attempt costs little more beside its end', () =>
  cost('startedAndEnded', 50, claimed, (attempts) => {
    const both = (attempt: Reply['body']) => {
      const end = complete(attempt);
      return [{ ...end, op: 'start', sessionId: 'ses-w1', result: undefined }, end];
    };
    return world.call('POST', '/attempts/batch', {
      body: { reports: attempts.slice(0, 50).flatMap(both) },
    });
  }));
