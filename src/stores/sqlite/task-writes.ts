import type { TaskState } from '../../core/task.ts';
import type { TaskFacts, TaskRow, Transaction } from '../../ports/store.ts';
import {
  attemptValues,
  INSERT_ATTEMPT,
  INSERT_TASK,
  policyText,
  taskValues,
  withTask,
} from './columns.ts';
import type { Connection } from './connection.ts';
import type { Kept } from './kept.ts';
import { placesToLook } from './queue.ts';
import { finders } from './task-reads.ts';

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

export function taskWrites(c: Connection, now: () => number, kept: Kept): TaskWrites {
  const found = finders(c, kept);
  const touch = (ref: number | string) => void kept.touched.tasks.add(ref);
  const changing = (task: TaskState, { attention, dueAtMs }: TaskFacts, policy: string) => {
    const ready = task.status === 'queued' && task.availableAtMs <= now();
    return taskValues(task, { policy, ready, attention, dueAtMs });
  };

  const savePayloads = (ref: number, before: TaskState | undefined, task: TaskState) => {
    const { resultJson } = task;
    if (resultJson !== undefined && withTask(resultJson) === null)
      c.put(putPayload('results'), [ref, resultJson]);
    if (task.checkpointJson !== undefined && task.checkpointJson !== before?.checkpointJson)
      c.put(putPayload('checkpoints'), [ref, task.checkpointJson]);
  };

  return {
    insertTask(task, facts) {
      const input = withTask(facts.inputJson);
      const { changes, ref } = c.run(
        INSERT_TASK,
        task.id,
        task.project,
        task.type,
        task.schemaVersion,
        task.pool,
        task.priority,
        JSON.stringify(task.labels),
        task.effectKey === task.id ? '' : task.effectKey,
        task.idempotencyKey ?? null,
        facts.requestHash ?? null,
        task.traceparent ?? null,
        task.createdAtMs,
        task.notBeforeMs ?? null,
        facts.rank,
        ...changing(task, facts, c.texts.hold(policyText(task.policy))),
        input,
      );
      if (changes === 0) return undefined;
      touch(ref);
      kept.counts.moved(task, undefined, task.status);
      if (input === null)
        c.put('INSERT INTO inputs (task, json) VALUES (?, ?)', [ref, facts.inputJson]);
      savePayloads(ref, undefined, task);
      return { ref, task };
    },

    saveTask(row, task, facts) {
      touch(row.ref);
      const values = changing(task, facts, c.texts.held(policyText(task.policy)));
      kept.tasks.save(task.id, loadedAgain(row.ref, task), values);
      savePayloads(row.ref, row.task, task);
      return { ref: row.ref, task };
    },

    saveDue(row, dueAtMs) {
      touch(row.ref);
      kept.tasks.saveOne(row.task.id, row.ref, 'due_at', dueAtMs ?? null);
    },

    saveRank(row, rank) {
      touch(row.ref);
      c.run('UPDATE tasks SET rank = ? WHERE ref = ?', rank, row.ref);
    },

    insertAttempt(row, attempt) {
      touch(row.ref);
      const values = attemptValues(attempt);
      const { ref } = c.run(
        INSERT_ATTEMPT,
        attempt.id,
        row.ref,
        attempt.project,
        attempt.fence,
        attempt.number,
        attempt.workerId,
        c.texts.hold(attempt.sessionId),
        attempt.effectSafety,
        attempt.effectGate,
        attempt.leaseMs,
        attempt.claimedAtMs,
        ...values,
      );
      const made = { ref, attempt };
      kept.attempts.insert(attempt.id, made, values);
      return made;
    },

    saveAttempt(row, attempt) {
      touch(attempt.taskId);
      const saved = { ref: row.ref, attempt };
      kept.attempts.save(attempt.id, saved, attemptValues(attempt));
      return saved;
    },

    async claimable(query) {
      const { project, want, max } = query;
      if (max <= 0) return [];
      const looked = placesToLook(c, query);
      const [only] = looked;
      if (only && looked.length === 1) {
        const { pool, type, schemaVersion, want: index } = only;
        const limit = Math.min(want[index]?.slots ?? 0, max);
        if (limit <= 0) return [];
        const place = [project, pool, type, schemaVersion, now(), now(), limit] as const;
        return c.allValues(CLAIMABLE_ROWS, ...place).map(found.task);
      }
      const places: { ref: number; rank: number; want: number }[] = [];
      for (const { pool, type, schemaVersion, want: index } of looked) {
        const limit = Math.min(want[index]?.slots ?? 0, max);
        if (limit <= 0) continue;
        for (const row of c.all(CLAIMABLE, project, pool, type, schemaVersion, now(), now(), limit))
          places.push({ ref: row.ref as number, rank: row.rank as number, want: index });
      }
      places.sort((a, b) => a.rank - b.rank || a.ref - b.ref);
      const taken = want.map(() => 0);
      const rows: TaskRow[] = [];
      for (const { ref, want: index } of places) {
        if (rows.length >= max) break;
        const had = taken[index] ?? 0;
        if (had >= (want[index]?.slots ?? 0)) continue;
        taken[index] = had + 1;
        const row = c.values('SELECT * FROM tasks WHERE ref = ?', ref);
        if (row) rows.push(found.task(row));
      }
      return rows;
    },

    async makeAvailable(limit) {
      const rows = c.all(TIME_HAS_COME, now(), limit);
      for (const row of rows) {
        touch(row.ref as number);
        kept.tasks.saveOne(row.id as string, row.ref as number, 'ready', 1);
      }
      return rows.map((row) => ({
        project: row.project as string,
        pool: row.pool as string,
        type: row.type as string,
        schemaVersion: row.schema_version as number,
      }));
    },

    async due(limit) {
      return c
        .allValues('SELECT * FROM tasks WHERE due_at <= ? ORDER BY due_at LIMIT ?', now(), limit)
        .map(found.task);
    },

    async openAttemptsAfter(ref, limit) {
      return c.allValues(OPEN_ATTEMPTS_AFTER, ref, limit).map(found.withTask);
    },

    async queuedAhead({ queuedAtMs, ref }, limit) {
      return c.allValues(QUEUED_AHEAD, queuedAtMs, ref, now(), now(), limit).map(found.task);
    },
  };
}

/** As it would be read: long results and checkpoints stand apart. */
function loadedAgain(ref: number, task: TaskState): TaskRow {
  const resultJson = withTask(task.resultJson) ?? undefined;
  if (task.resultJson === resultJson && task.checkpointJson === undefined) return { ref, task };
  return { ref, task: { ...task, resultJson, checkpointJson: undefined } };
}

/** `OR REPLACE` would be a removal too, so that SQLite keeps a journal of each such statement. */
const putPayload = (table: 'results' | 'checkpoints') =>
  `INSERT INTO ${table} (task, json) VALUES (?, ?) ON CONFLICT (task) DO UPDATE SET json = excluded.json`;
const WHERE_CLAIMABLE = `FROM tasks
  WHERE project = ? AND pool = ? AND type = ? AND schema_version = ? AND status = 'queued' AND ready = 1
    AND available_at <= ? AND (deadline IS NULL OR deadline > ?)
  ORDER BY rank LIMIT ?`;
const CLAIMABLE = `SELECT ref, rank ${WHERE_CLAIMABLE}`;
/** Where there is one place only no ranks are to be compared. */
const CLAIMABLE_ROWS = `SELECT * ${WHERE_CLAIMABLE}`;
const TIME_HAS_COME = `SELECT ref, id, project, pool, type, schema_version FROM tasks
  WHERE status = 'queued' AND ready = 0 AND available_at <= ? ORDER BY available_at LIMIT ?`;
const QUEUED_AHEAD = `SELECT * FROM tasks INDEXED BY tasks_queued
  WHERE status = 'queued' AND (queued_at, ref) > (?, ?) AND queued_at > ?
    AND (queued_at IS NOT not_before OR created_at > ?)
  ORDER BY queued_at, ref LIMIT ?`;
const OPEN_ATTEMPTS_AFTER =
  'SELECT * FROM attempts INDEXED BY attempts_open WHERE ended_at IS NULL AND ref > ? ORDER BY ref LIMIT ?';
