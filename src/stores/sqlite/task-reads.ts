import type { AttemptRow, Payload, Reads, TaskRow } from '../../ports/store.ts';
import { type Connection, number, type Row } from './connection.ts';
import { queueGroups } from './queue.ts';
import { attemptRow, taskRow } from './rows.ts';
import { taskPage } from './task-page.ts';

/** Tasks and attempts, found. */
export type TaskReads = Pick<
  Reads,
  | 'task'
  | 'taskByKey'
  | 'attempt'
  | 'latestAttempt'
  | 'openAttempts'
  | 'countOpenAttempts'
  | 'payload'
  | 'tasks'
  | 'queue'
  | 'nextTimeMs'
>;

export function taskReads(c: Connection): TaskReads {
  return {
    async task(project, id) {
      const row = c.get('SELECT * FROM tasks WHERE id = ? AND project = ?', id, project);
      return row && taskRow(row);
    },

    async taskByKey(project, idempotencyKey) {
      const row = c.get(
        'SELECT * FROM tasks WHERE project = ? AND idempotency_key = ?',
        project,
        idempotencyKey,
      );
      return row && { row: taskRow(row), requestHash: row.request_hash as string };
    },

    async attempt(project, id) {
      const row = c.get('SELECT * FROM attempts WHERE id = ? AND project = ?', id, project);
      return row && withTask(c, row);
    },

    async latestAttempt({ task }) {
      if (task.attemptId === undefined) return undefined;
      const row = c.get('SELECT * FROM attempts WHERE id = ?', task.attemptId);
      return row && attemptRow(row, task.id);
    },

    async openAttempts(project, workerId) {
      const rows = c.all(
        'SELECT * FROM attempts WHERE project = ? AND worker_id = ? AND ended_at IS NULL ORDER BY ref',
        project,
        workerId,
      );
      return rows.map((row) => withTask(c, row));
    },

    async countOpenAttempts(project, workerId) {
      const row = c.get(
        'SELECT count(*) AS n FROM attempts WHERE project = ? AND worker_id = ? AND ended_at IS NULL',
        project,
        workerId,
      );
      return row?.n as number;
    },

    async payload(taskRef, part) {
      return c.get(PAYLOADS[part], taskRef)?.json as string | undefined;
    },

    async tasks(query) {
      return taskPage(c, query);
    },

    async queue(project) {
      return queueGroups(c, project);
    },

    async nextTimeMs() {
      const row = c.get(
        `SELECT min(at) AS at FROM (
           SELECT min(due_at) AS at FROM tasks WHERE due_at IS NOT NULL
           UNION ALL SELECT min(available_at) FROM tasks WHERE status = 'queued' AND ready = 0)`,
      );
      return number(row?.at);
    },
  };
}

/** Two look-ups by key are faster than one join with the columns of both. */
export function withTask(c: Connection, row: Row): { row: TaskRow; attempt: AttemptRow } {
  const task = taskRow(c.get('SELECT * FROM tasks WHERE ref = ?', row.task as number) as Row);
  return { row: task, attempt: attemptRow(row, task.task.id) };
}

const PAYLOADS: Readonly<Record<Payload, string>> = {
  input: 'SELECT json FROM inputs WHERE task = ?',
  result: 'SELECT json FROM results WHERE task = ?',
  checkpoint: 'SELECT json FROM checkpoints WHERE task = ?',
};
