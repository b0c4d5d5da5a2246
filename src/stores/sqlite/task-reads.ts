import type { AttemptRow, Payload, Reads, TaskRow } from '../../ports/store.ts';
import { type Connection, number, text, type Values } from './connection.ts';
import type { Kept } from './kept.ts';
import { queueGroups } from './queue.ts';
import { A, attemptRow, T, taskRow } from './rows.ts';
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

/** @param kept of a transaction: what it knows is not read again. */
export function taskReads(c: Connection, kept?: Kept): TaskReads {
  const found = finders(c, kept);
  return {
    async task(project, id) {
      const row = c.values('SELECT * FROM tasks WHERE id = ? AND project = ?', id, project);
      return row && found.task(row);
    },

    async taskByKey(project, idempotencyKey) {
      const row = c.values(
        'SELECT * FROM tasks WHERE project = ? AND idempotency_key = ?',
        project,
        idempotencyKey,
      );
      return row && { row: found.task(row), requestHash: row[T.request_hash] as string };
    },

    async attempt(project, id) {
      const known = kept?.attempts.find(id);
      const of = known?.attempt.project === project && kept?.tasks.find(known.attempt.taskId);
      if (known && of) return { row: of, attempt: known };
      const row = c.values('SELECT * FROM attempts WHERE id = ? AND project = ?', id, project);
      return row && found.withTask(row);
    },

    async latestAttempt({ task }) {
      if (task.attemptId === undefined) return undefined;
      const known = kept?.attempts.find(task.attemptId);
      if (known) return known;
      const row = c.values('SELECT * FROM attempts WHERE id = ?', task.attemptId);
      return row && found.attempt(row, task.id);
    },

    async openAttempts(project, workerId) {
      const rows = c.allValues(
        'SELECT * FROM attempts WHERE project = ? AND worker_id = ? AND ended_at IS NULL ORDER BY ref',
        project,
        workerId,
      );
      return rows.map(found.withTask);
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
      return text(c.values(PAYLOADS[part], taskRef)?.[0]);
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

export interface Finders {
  task(row: Values): TaskRow;
  attempt(row: Values, taskId: string): AttemptRow;
  withTask(row: Values): { readonly row: TaskRow; readonly attempt: AttemptRow };
}

export function finders(c: Connection, kept?: Kept): Finders {
  const task = (row: Values) => {
    if (kept === undefined) return taskRow(row, c.texts);
    const id = row[T.id] as string;
    return kept.tasks.find(id) ?? kept.tasks.read(id, taskRow(row, c.texts), row);
  };
  const attempt = (row: Values, taskId: string) => {
    if (kept === undefined) return attemptRow(row, taskId, c.texts);
    const id = row[A.id] as string;
    return kept.attempts.find(id) ?? kept.attempts.read(id, attemptRow(row, taskId, c.texts), row);
  };
  return {
    task,
    attempt,
    /** Two look-ups by key are faster than one join with the columns of both. */
    withTask(row) {
      const of = task(
        c.values('SELECT * FROM tasks WHERE ref = ?', row[A.task] as number) as Values,
      );
      return { row: of, attempt: attempt(row, of.task.id) };
    },
  };
}

/** With its task, or apart. */
function payload(part: 'input' | 'result'): string {
  return `SELECT coalesce(t.${part}, p.json) FROM tasks AS t LEFT JOIN ${part}s AS p ON p.task = t.ref WHERE t.ref = ?`;
}

const PAYLOADS: Readonly<Record<Payload, string>> = {
  input: payload('input'),
  result: payload('result'),
  checkpoint: 'SELECT json FROM checkpoints WHERE task = ?',
};
