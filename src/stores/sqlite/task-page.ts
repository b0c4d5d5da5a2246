import type { TaskPage, TaskQuery, TaskRow } from '../../ports/store.ts';
import type { Connection, Value } from './connection.ts';
import { taskRow } from './rows.ts';

/**
 * A page, newest first: one range of the index per status, merged. Filters that no index covers are looked
 * at for a bounded number of rows per status; where that bound ended the search the page has a `next`.
 */
export function taskPage(c: Connection, query: TaskQuery): TaskPage {
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
    const rows = c.allValues(
      `SELECT * FROM tasks WHERE ${where}${filter.sql} ORDER BY id DESC LIMIT ?`,
      ...range,
      ...filter.values,
      query.limit + 1,
    );
    for (const row of rows) found.push(taskRow(row, c.texts));
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
const SCANNED_PER_STATUS = 5_000;

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
