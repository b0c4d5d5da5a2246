import { queuedAhead } from '../core/clock-back.ts';
import type { QueuePlace, Stamped, Transaction } from '../ports/store.ts';
import { keepChange } from './change.ts';
import type { Services } from './services.ts';

/**
 * At a start: what an earlier process stored by a clock that ran ahead of ours is put right, in transactions of a bounded
 * length. Nothing of it enters the journal: no task has changed its status. Interrupted, the next start goes on with it.
 */
export async function putClockRight(services: Services): Promise<void> {
  const { store, timing, log } = services;
  let backMs = 0;
  let tasks = 0;
  let after: QueuePlace | undefined = { queuedAtMs: await store.nowMs(), ref: 0 };
  while (after) {
    const from: QueuePlace = after;
    const done = await store.write((tx) => queueFrom(tx, from, timing.sweepBatch));
    backMs = Math.max(backMs, done.backMs);
    tasks += done.tasks;
    after = done.next;
  }
  let seen = 0;
  for (const what of STAMPED) {
    let before: number | undefined = Number.MAX_SAFE_INTEGER;
    while (before !== undefined) {
      const from: number = before;
      const done = await store.write((tx) => tx.stampAsOfNow(what, from, timing.sweepBatch));
      backMs = Math.max(backMs, done.aheadMs);
      if (what === 'workers') seen += done.changed;
      before = done.next;
    }
  }
  if (backMs > 0)
    log.warn(
      'clock.went-back',
      `This machine's clock is at least ${words(backMs)} behind where it was when the store was written last. ${tasks === 1 ? '1 queued task keeps what was left of its wait' : `${tasks} queued tasks keep what was left of their waits`}, ${seen === 1 ? '1 worker counts' : `${seen} workers count`} as seen now; times in journals may go back.`,
      { backMs, tasks, workers: seen },
    );
}

const STAMPED: readonly Stamped[] = ['workers', 'sessions', 'claims', 'actions'];

const words = (ms: number) => (ms < 1_000 ? `${ms} ms` : `${Math.round(ms / 1_000)} s`);

async function queueFrom(
  tx: Transaction,
  after: QueuePlace,
  limit: number,
): Promise<{ tasks: number; backMs: number; next: QueuePlace | undefined }> {
  const rows = await tx.queuedAhead(after, limit);
  let backMs = 0;
  for (const row of rows) {
    const ahead = queuedAhead(tx.nowMs, row.task);
    backMs = Math.max(backMs, ahead?.backMs ?? 0, row.task.createdAtMs - tx.nowMs);
    const task = ahead?.task ?? { ...row.task };
    await keepChange(tx, row, undefined, { task, events: [] });
  }
  const last = rows.at(-1);
  const next =
    last && rows.length === limit ? { queuedAtMs: last.task.queuedAtMs, ref: last.ref } : undefined;
  return { tasks: rows.length, backMs, next };
}
