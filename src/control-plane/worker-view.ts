import { typeKey } from '../contract/type-key.ts';
import { controlPlaneDefaults } from '../core/defaults.ts';
import { durationWords } from '../core/duration-words.ts';
import { pauseInWords } from '../core/type-pauses.ts';
import { stuckInWords } from '../core/waiting-for.ts';
import { NOT_HEARD, unservedWords } from '../core/worker-words.ts';
import type { Reads, WorkerRow, WorkerSight } from '../ports/store.ts';
import { instantText } from './task-view.ts';
import { condition, pausedNow, type WorkerCondition } from './worker-facts.ts';
import { endedKeys } from './worker-key.ts';

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
  const key = (await endedKeys(reads, nowMs, [worker])).get(worker.workerId);
  return {
    workerId: worker.workerId,
    state: how.state,
    words: `${inWords(nowMs, sight, how)}${key === undefined ? '' : `; it ${key}`}`,
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
    pausedTypes: some(pausedNow(nowMs, worker)),
    keptHandlers: some(present?.keptHandlers ?? []),
    unservedHandlers: some(present?.unservedHandlers ?? []),
    stuck: some(present?.stuck ?? []),
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
  const held = worker.present?.stuck?.length ?? 0;
  const stuck = held === 0 ? '' : `; ${stuckInWords(held)}`;
  const quietMs = nowMs - worker.lastSeenMs;
  const quiet = quietMs > controlPlaneDefaults.quietAfterMs ? `; ${NOT_HEARD} ${ago(quietMs)}` : '';
  switch (state) {
    case 'offline':
      return worker.present?.state === 'offline'
        ? `offline: it said goodbye ${ago(nowMs - worker.lastSeenMs)} ago`
        : `offline: last seen ${ago(nowMs - worker.lastSeenMs)} ago`;
    case 'draining': {
      const rest = Math.max(openAttempts, busy);
      const what = rest === 0 ? 'has nothing left to do' : `finishes ${tasks(rest)}`;
      return `draining: ${what}, claims no more${quiet}`;
    }
    case 'full':
      return `full: ${max === 1 ? 'its slot is' : `all ${max} slots are`} working${stuck}${asked}${quiet}`;
    case 'ready': {
      const claims = worker.present?.notClaiming;
      if (claims !== undefined) return `ready, but claims nothing: ${claims}${asked}${quiet}`;
      return `ready: ${busy} of ${max === 1 ? '1 slot is' : `${max} slots are`} working${stuck}${pausedWords(worker)}${asked}${quiet}`;
    }
  }
}

/**
 * What keeps an online worker from doing all it should, one sentence each. An operator's wish is no trouble.
 */
export function troubles(nowMs: number, { worker }: WorkerSight): string[] {
  const { present } = worker;
  const stuck = present?.stuck?.length ?? 0;
  return [
    ...(present?.notClaiming === undefined ? [] : [`claims nothing: ${present.notClaiming}`]),
    ...pausedNow(nowMs, worker).map(
      (paused) => `${typeKey(paused.type, paused.schemaVersion)} ${pauseInWords(paused)}`,
    ),
    ...(present?.keptHandlers ?? []).map(
      ({ type, schemaVersion, why, since }) =>
        `${typeKey(type, schemaVersion)} is served with older code since ${since}: ${why}`,
    ),
    ...(present?.unservedHandlers ?? []).map((one) => unservedWords(one)),
    ...(stuck === 0 ? [] : [stuckInWords(stuck)]),
  ];
}

function pausedWords({ present }: WorkerRow): string {
  const paused = present?.pausedTypes?.length ?? 0;
  return paused === 0 ? '' : `; ${paused === 1 ? '1 type is' : `${paused} types are`} paused`;
}

function some<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

const tasks = (n: number) => (n === 1 ? '1 task' : `${n} tasks`);

/** Whole seconds, cut as `age` cuts them: both stand in one line. */
function ago(ms: number): string {
  return ms < 1_000 ? '0 s' : durationWords(Math.floor(ms / 1_000) * 1_000);
}
