import type { AttemptRow, Payload, Reads, TaskQuery, TaskRow } from '../../ports/store.ts';
import { type Connection, number, type Row, type Value } from './connection.ts';
import { attemptRow, taskRow } from './rows.ts';

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
      return page(c, query);
    },

    async queue(project) {
      const groups = new Map<string, Row>();
      const add = (rows: Row[], column: 'queued' | 'running') => {
        for (const row of rows) {
          const key = JSON.stringify([row.pool, row.type, row.schema_version]);
          const group = groups.get(key) ?? { ...row, queued: 0, running: 0, oldest: null };
          group[column] = (group[column] as number) + (row.n as number);
          if (column === 'queued' && row.created !== null)
            group.oldest = Math.min((group.oldest as number) ?? Infinity, row.created as number);
          groups.set(key, group);
        }
      };
      add(c.all(QUEUE_READY, project), 'queued');
      add(c.all(QUEUE_WAITING, project), 'queued');
      add(c.all(QUEUE_RUNNING, project), 'running');
      return [...groups.values()].map((row) => ({
        pool: row.pool as string,
        type: row.type as string,
        schemaVersion: row.schema_version as number,
        queued: row.queued as number,
        running: row.running as number,
        oldestQueuedAtMs: number(row.oldest),
      }));
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

const QUEUE_READY = `SELECT pool, type, schema_version, count(*) AS n, min(created_at) AS created FROM tasks
  WHERE project = ? AND status = 'queued' AND ready = 1 GROUP BY pool, type, schema_version`;
const QUEUE_WAITING = `SELECT pool, type, schema_version, count(*) AS n, min(created_at) AS created FROM tasks
  WHERE status = 'queued' AND ready = 0 AND project = ? GROUP BY pool, type, schema_version`;
const QUEUE_RUNNING = `SELECT pool, type, schema_version, count(*) AS n, NULL AS created FROM tasks
  WHERE project = ? AND status = 'running' GROUP BY pool, type, schema_version`;

/**
 * A page, newest first: one range of the index per status, merged. Filters that no index covers are looked
 * at for a bounded number of rows per status; where that bound ended the search the page has a `next`.
 */
function page(c: Connection, query: TaskQuery): { rows: TaskRow[]; next?: string } {
  const attention = query.attention ? ' AND attention = 1' : '';
  const filter = filterOf(query);
  let floor: string | undefined;
  const found: TaskRow[] = [];
  for (const status of query.statuses ?? STATUSES) {
    const range: Value[] = [query.project, status, query.belowId ?? LAST, query.aboveId ?? ''];
    const where = `project = ? AND status = ? AND id < ? AND id > ?${attention}`;
    let stop = '';
    if (filter.sql) {
      const row = c.get(
        `SELECT id FROM tasks WHERE ${where} ORDER BY id DESC LIMIT 1 OFFSET ${SCANNED_PER_STATUS}`,
        ...range,
      );
      if (row) {
        stop = row.id as string;
        range[3] = stop;
        if (floor === undefined || stop > floor) floor = stop;
      }
    }
    const rows = c.all(
      `SELECT * FROM tasks WHERE ${where}${filter.sql} ORDER BY id DESC LIMIT ?`,
      ...range,
      ...filter.values,
      query.limit + 1,
    );
    for (const row of rows) found.push(taskRow(row));
  }
  found.sort((a, b) => (a.task.id < b.task.id ? 1 : -1));
  // Below the highest point where a search stopped, other statuses may be ahead of it: left to the next page.
  const sure = floor === undefined ? found : found.filter(({ task }) => task.id > (floor ?? ''));
  const rows = sure.slice(0, query.limit);
  if (sure.length > query.limit) return { rows, next: rows.at(-1)?.task.id as string };
  // The next page begins with the row at the floor itself.
  return floor === undefined ? { rows } : { rows, next: `${floor}~` };
}

const STATUSES = [
  'queued',
  'running',
  'succeeded',
  'failed',
  'outcome-unknown',
  'cancelled',
  'expired',
] as const;
/** Greater than any id. */
const LAST = '~';
const SCANNED_PER_STATUS = 20_000;

function filterOf(query: TaskQuery): { sql: string; values: Value[] } {
  let sql = '';
  const values: Value[] = [];
  if (query.type !== undefined) {
    sql += ' AND type = ?';
    values.push(query.type);
  }
  if (query.schemaVersion !== undefined) {
    sql += ' AND schema_version = ?';
    values.push(query.schemaVersion);
  }
  if (query.pool !== undefined) {
    sql += ' AND pool = ?';
    values.push(query.pool);
  }
  for (const { name, value } of query.labels ?? []) {
    sql += ` AND EXISTS (SELECT 1 FROM json_each(labels) WHERE key = ?${value === undefined ? '' : ' AND value = ?'})`;
    values.push(name, ...(value === undefined ? [] : [value]));
  }
  return { sql, values };
}
