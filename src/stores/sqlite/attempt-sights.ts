import type { AttemptPhase } from '../../core/task.ts';
import type { AttemptSight, Reads } from '../../ports/store.ts';
import { type Connection, number, type Values } from './connection.ts';

/** Attempts for people's histories: found by their refs, which grow with the time of the claim, so that no index is kept for them. */
export function attemptSights(c: Connection): Pick<Reads, 'attemptsSince' | 'endedAttempts'> {
  return {
    async attemptsSince(project, fromMs, most) {
      const last = (c.get('SELECT max(ref) AS ref FROM attempts')?.ref ?? 0) as number;
      const first = firstSince(c, fromMs, last);
      const every = Math.max(1, Math.ceil((last - first + 1) / most));
      const rows =
        every === 1
          ? c.allValues(ALL, first, project, fromMs)
          : c.allValues(SOME, first, every, last - every, project, fromMs);
      return { rows: rows.map(sight), every };
    },

    async endedAttempts(project, workerId, looked, limit) {
      return c.allValues(ENDED, looked, project, workerId, limit).map(sight);
    },
  };
}

/** By halving: some twenty looks, whatever the size. After a clock that was set back it is not quite the first. */
function firstSince(c: Connection, fromMs: number, last: number): number {
  let [low, high] = [1, last + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = c.get(CLAIMED_FROM, middle);
    if (row !== undefined && (row.claimed_at as number) < fromMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

const CLAIMED_FROM = 'SELECT claimed_at FROM attempts WHERE ref >= ? ORDER BY ref LIMIT 1';
const SIGHT = `SELECT a.id, t.id, t.type, t.schema_version, a.worker_id, a.state,
  CASE WHEN t.attempt_id = a.id THEN max(t.queued_at, t.available_at) END, a.counted_at, a.ended_at`;
const ALL = `${SIGHT} FROM attempts AS a CROSS JOIN tasks AS t ON t.ref = a.task
  WHERE a.ref >= ? AND a.project = ? AND a.claimed_at >= ? ORDER BY a.ref`;
const SOME = `WITH RECURSIVE places (first, every, last, ref) AS (
    SELECT ?1, ?2, ?3, ?1 UNION ALL SELECT first, every, last, ref + every FROM places WHERE ref <= last)
  ${SIGHT} FROM places AS p CROSS JOIN attempts AS a ON a.ref = p.ref CROSS JOIN tasks AS t ON t.ref = a.task
  WHERE a.project = ?4 AND a.claimed_at >= ?5`;
const ENDED = `${SIGHT} FROM (SELECT ref FROM attempts ORDER BY ref DESC LIMIT ?) AS n
  CROSS JOIN attempts AS a ON a.ref = n.ref CROSS JOIN tasks AS t ON t.ref = a.task
  WHERE a.project = ? AND a.worker_id = ? AND a.ended_at IS NOT NULL ORDER BY a.ref DESC LIMIT ?`;

function sight(row: Values): AttemptSight {
  const [id, taskId, type, schemaVersion, workerId, state, available, counted, ended] = row;
  return {
    id: id as string,
    taskId: taskId as string,
    type: type as string,
    schemaVersion: schemaVersion as number,
    workerId: workerId as string,
    state: state as AttemptPhase,
    availableAtMs: number(available),
    countedAtMs: number(counted),
    endedAtMs: number(ended),
  };
}
