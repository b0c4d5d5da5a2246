import type { AttemptState, TaskState } from '../../core/task.ts';
import type { TaskRow, Transaction } from '../../ports/store.ts';
import { type Connection, jsonOrNull, type Value } from './connection.ts';
import { placesToLook } from './queue.ts';
import { taskRow } from './rows.ts';
import { withTask } from './task-reads.ts';

/** Tasks and attempts, kept. */
export type TaskWrites = Pick<
  Transaction,
  | 'insertTask'
  | 'saveTask'
  | 'saveDue'
  | 'saveRank'
  | 'insertAttempt'
  | 'saveAttempt'
  | 'claimable'
  | 'makeAvailable'
  | 'due'
  | 'openAttemptsAfter'
  | 'queuedAhead'
>;

export function taskWrites(c: Connection, now: () => number): TaskWrites {
  const ready = (task: TaskState) =>
    task.status === 'queued' && task.availableAtMs <= now() ? 1 : 0;

  const savePayloads = (ref: number, before: TaskState | undefined, task: TaskState) => {
    if (task.resultJson !== undefined && task.resultJson !== before?.resultJson)
      c.run('INSERT OR REPLACE INTO results (task, json) VALUES (?, ?)', ref, task.resultJson);
    if (task.checkpointJson !== undefined && task.checkpointJson !== before?.checkpointJson)
      c.run(
        'INSERT OR REPLACE INTO checkpoints (task, json) VALUES (?, ?)',
        ref,
        task.checkpointJson,
      );
  };

  return {
    async insertTask(task, facts) {
      const { ref } = c.run(
        INSERT_TASK,
        task.id,
        task.project,
        task.type,
        task.schemaVersion,
        task.pool,
        task.priority,
        JSON.stringify(task.labels),
        task.effectKey,
        task.idempotencyKey ?? null,
        facts.requestHash ?? null,
        task.traceparent ?? null,
        task.createdAtMs,
        task.notBeforeMs ?? null,
        facts.rank,
        ...changing(task, ready(task), facts.attention),
        facts.dueAtMs ?? null,
      );
      c.run('INSERT INTO inputs (task, json) VALUES (?, ?)', ref, facts.inputJson);
      savePayloads(ref, undefined, task);
      return { ref, task };
    },

    async saveTask(row, task, facts) {
      c.run(
        UPDATE_TASK,
        ...changing(task, ready(task), facts.attention),
        facts.dueAtMs ?? null,
        row.ref,
      );
      savePayloads(row.ref, row.task, task);
      return { ref: row.ref, task };
    },

    async saveDue(row, dueAtMs) {
      c.run('UPDATE tasks SET due_at = ? WHERE ref = ?', dueAtMs ?? null, row.ref);
    },

    async saveRank(row, rank) {
      c.run('UPDATE tasks SET rank = ? WHERE ref = ?', rank, row.ref);
    },

    async insertAttempt(row, attempt) {
      const { ref } = c.run(
        INSERT_ATTEMPT,
        attempt.id,
        row.ref,
        attempt.project,
        attempt.fence,
        attempt.number,
        attempt.workerId,
        attempt.sessionId,
        attempt.effectSafety,
        attempt.effectGate,
        attempt.leaseMs,
        attempt.claimedAtMs,
        ...moving(attempt),
      );
      return { ref, attempt };
    },

    async saveAttempt(row, attempt) {
      c.run(UPDATE_ATTEMPT, ...moving(attempt), row.ref);
      return { ref: row.ref, attempt };
    },

    async claimable(query) {
      const { project, want, max } = query;
      if (max <= 0) return [];
      const found: { ref: number; rank: number; want: number }[] = [];
      for (const { pool, type, schemaVersion, want: index } of placesToLook(c, query)) {
        const limit = Math.min(want[index]?.slots ?? 0, max);
        if (limit <= 0) continue;
        for (const row of c.all(CLAIMABLE, project, pool, type, schemaVersion, now(), now(), limit))
          found.push({ ref: row.ref as number, rank: row.rank as number, want: index });
      }
      found.sort((a, b) => a.rank - b.rank || a.ref - b.ref);
      const taken = want.map(() => 0);
      const rows: TaskRow[] = [];
      for (const { ref, want: index } of found) {
        if (rows.length >= max) break;
        const had = taken[index] ?? 0;
        if (had >= (want[index]?.slots ?? 0)) continue;
        taken[index] = had + 1;
        const row = c.get('SELECT * FROM tasks WHERE ref = ?', ref);
        if (row) rows.push(taskRow(row));
      }
      return rows;
    },

    async makeAvailable(limit) {
      const rows = c.all(TIME_HAS_COME, now(), limit);
      for (const row of rows) c.run('UPDATE tasks SET ready = 1 WHERE ref = ?', row.ref as number);
      return rows.map((row) => ({
        project: row.project as string,
        pool: row.pool as string,
        type: row.type as string,
        schemaVersion: row.schema_version as number,
      }));
    },

    async due(limit) {
      return c
        .all('SELECT * FROM tasks WHERE due_at <= ? ORDER BY due_at LIMIT ?', now(), limit)
        .map(taskRow);
    },

    async openAttemptsAfter(ref, limit) {
      return c.all(OPEN_ATTEMPTS_AFTER, ref, limit).map((row) => withTask(c, row));
    },

    async queuedAhead({ queuedAtMs, ref }, limit) {
      return c.all(QUEUED_AHEAD, queuedAtMs, ref, now(), now(), limit).map(taskRow);
    },
  };
}

/** The columns of a task that may change, in one order for insert and update. */
const CHANGING = [
  'policy',
  'status',
  'ready',
  'seq',
  'started_at',
  'finished_at',
  'deadline',
  'queued_at',
  'available_at',
  'attempts',
  'permitted',
  'undelivered',
  'losses',
  'fence',
  'attempt_id',
  'worker_id',
  'cancel_requested',
  'cancel_reason',
  'operator_seq',
  'operator_fence',
  'error',
  'progress',
  'late_report',
  'attention',
];

function changing(task: TaskState, ready: number, attention: boolean): Value[] {
  return [
    JSON.stringify(task.policy),
    task.status,
    ready,
    task.seq,
    task.startedAtMs ?? null,
    task.finishedAtMs ?? null,
    task.deadlineMs ?? null,
    task.queuedAtMs,
    task.availableAtMs,
    task.attempts,
    task.permitted,
    task.undelivered,
    task.losses,
    task.fence,
    task.attemptId ?? null,
    task.workerId ?? null,
    task.cancelRequested ? 1 : 0,
    task.cancelReason ?? null,
    task.operatorSeq,
    task.operatorFence,
    jsonOrNull(task.error),
    jsonOrNull(task.progress),
    jsonOrNull(task.lateReport),
    attention ? 1 : 0,
  ];
}

const FIXED = [
  'id',
  'project',
  'type',
  'schema_version',
  'pool',
  'priority',
  'labels',
  'effect_key',
  'idempotency_key',
  'request_hash',
  'traceparent',
  'created_at',
  'not_before',
  'rank',
];
const marks = (names: readonly string[]) => names.map(() => '?').join(', ');
const ALL = [...FIXED, ...CHANGING, 'due_at'];
const INSERT_TASK = `INSERT INTO tasks (${ALL.join(', ')}) VALUES (${marks(ALL)})`;
const UPDATE_TASK = `UPDATE tasks SET ${[...CHANGING, 'due_at'].map((n) => `${n} = ?`).join(', ')} WHERE ref = ?`;

const ATTEMPT_FIXED = [
  'id',
  'task',
  'project',
  'fence',
  'number',
  'worker_id',
  'session_id',
  'effect_safety',
  'effect_gate',
  'lease_ms',
  'claimed_at',
];
const ATTEMPT_MOVING = [
  'lease_until',
  'state',
  'counted_at',
  'start_accepted',
  'effect_accepted',
  'progress_n',
  'log_n',
  'ended_at',
  'end_op',
  'end_hash',
  'late_op',
  'late_hash',
];
const ATTEMPT_ALL = [...ATTEMPT_FIXED, ...ATTEMPT_MOVING];
const INSERT_ATTEMPT = `INSERT INTO attempts (${ATTEMPT_ALL.join(', ')}) VALUES (${marks(ATTEMPT_ALL)})`;
const UPDATE_ATTEMPT = `UPDATE attempts SET ${ATTEMPT_MOVING.map((n) => `${n} = ?`).join(', ')} WHERE ref = ?`;

function moving(attempt: AttemptState): Value[] {
  return [
    attempt.leaseUntilMs,
    attempt.state,
    attempt.countedAtMs ?? null,
    attempt.startAccepted ? 1 : 0,
    attempt.effectAccepted ? 1 : 0,
    attempt.progressN,
    attempt.logN,
    attempt.endedAtMs ?? null,
    attempt.end?.op ?? null,
    attempt.end?.hash ?? null,
    attempt.late?.op ?? null,
    attempt.late?.hash ?? null,
  ];
}

const CLAIMABLE = `SELECT ref, rank FROM tasks
  WHERE project = ? AND pool = ? AND type = ? AND schema_version = ? AND status = 'queued' AND ready = 1
    AND available_at <= ? AND (deadline IS NULL OR deadline > ?)
  ORDER BY rank LIMIT ?`;
const TIME_HAS_COME = `SELECT ref, project, pool, type, schema_version FROM tasks
  WHERE status = 'queued' AND ready = 0 AND available_at <= ? ORDER BY available_at LIMIT ?`;
const QUEUED_AHEAD = `SELECT * FROM tasks INDEXED BY tasks_queued
  WHERE status = 'queued' AND (queued_at, ref) > (?, ?) AND queued_at > ?
    AND (queued_at IS NOT not_before OR created_at > ?)
  ORDER BY queued_at, ref LIMIT ?`;
const OPEN_ATTEMPTS_AFTER =
  'SELECT * FROM attempts INDEXED BY attempts_open WHERE ended_at IS NULL AND ref > ? ORDER BY ref LIMIT ?';
