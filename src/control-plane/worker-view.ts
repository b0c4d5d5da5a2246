import type { Reads, WorkerSight } from '../ports/store.ts';
import { instantText } from './task-view.ts';
import { condition, type WorkerCondition } from './worker-facts.ts';

/** A worker as people see it. No view shows session ids. */
export async function workerView(
  reads: Reads,
  nowMs: number,
  sight: WorkerSight,
  offlineAfterMs: number,
): Promise<object> {
  const { worker, handlers } = sight;
  const { present } = worker;
  const how = condition(nowMs, sight, offlineAfterMs);
  const open = await reads.openAttempts(worker.project, worker.workerId);
  return {
    workerId: worker.workerId,
    state: how.state,
    words: inWords(nowMs, sight, how),
    slots: { max: how.max, busy: how.busy },
    pools: present?.pools ?? [],
    handlers: handlers.map(({ type, schemaVersion, effectSafety, effectGate }) => ({
      type,
      schemaVersion,
      effectSafety,
      effectGate,
    })),
    versions: present?.versions ?? {},
    spool: present?.spool ?? { pending: 0, bytes: 0, oldestMs: null, ok: true },
    notClaiming: present?.notClaiming,
    lastSeenAt: instantText(worker.lastSeenMs),
    clockOffsetMs: present?.clockOffsetMs,
    drainRequested: how.drainRequested || undefined,
    attempts: open.map(({ row, attempt }) => ({
      taskId: row.task.id,
      attemptId: attempt.attempt.id,
      type: row.task.type,
      schemaVersion: row.task.schemaVersion,
      startedAt: instantText(attempt.attempt.countedAtMs),
    })),
  };
}

/** The state and what it means: `full: all 2 slots are working`. */
export function inWords(
  nowMs: number,
  { worker, openAttempts }: WorkerSight,
  { state, busy, max, drainRequested }: WorkerCondition,
): string {
  const asked = drainRequested && state !== 'draining' ? '; it was asked to drain' : '';
  switch (state) {
    case 'offline':
      return worker.present?.state === 'offline'
        ? `offline: it said goodbye ${ago(nowMs - worker.lastSeenMs)} ago`
        : `offline: last seen ${ago(nowMs - worker.lastSeenMs)} ago`;
    case 'draining': {
      const rest = Math.max(openAttempts, busy);
      const what = rest === 0 ? 'has nothing left to do' : `finishes ${tasks(rest)}`;
      return `draining: ${what}, claims no more`;
    }
    case 'full':
      return `full: ${max === 1 ? 'its slot is' : `all ${max} slots are`} working${asked}`;
    case 'ready': {
      const claims = worker.present?.notClaiming;
      if (claims !== undefined) return `ready, but claims nothing: ${claims}${asked}`;
      return `ready: ${busy} of ${max === 1 ? '1 slot is' : `${max} slots are`} working${asked}`;
    }
  }
}

const tasks = (n: number) => (n === 1 ? '1 task' : `${n} tasks`);

function ago(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 120) return `${s} s`;
  return s < 7_200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3_600)} h`;
}
