import type { Reads } from '../../ports/store.ts';
import type { Connection } from './connection.ts';
import { taskRow } from './rows.ts';

/** What a page about tasks counts and groups; each look is bounded, however much there is. */
export function attentionReads(
  c: Connection,
): Pick<Reads, 'countTasks' | 'failureGroups' | 'losingTasks'> {
  return {
    async countTasks(project, status, atMost) {
      return c.get(COUNT, project, status, atMost)?.n as number;
    },

    async failureGroups(project, among, sinceMs) {
      return c.all(FAILURES, project, among, sinceMs).map((row) => ({
        type: row.type as string,
        schemaVersion: row.schema_version as number,
        code: (row.code as string | null) ?? '',
        tasks: row.tasks as number,
        newestId: row.newest as string,
      }));
    },

    async losingTasks(project, limit) {
      return c.allValues(LOSING, project, limit).map((row) => taskRow(row, c.texts));
    },
  };
}

const COUNT = `SELECT count(*) AS n FROM
  (SELECT 1 FROM tasks WHERE project = ? AND status = ? LIMIT ?)`;
const FAILURES = `SELECT type, schema_version, json_extract(error, '$.code') AS code, count(*) AS tasks, max(id) AS newest
  FROM (SELECT id, type, schema_version, error, attention, finished_at FROM tasks
    WHERE project = ? AND status = 'failed' ORDER BY id DESC LIMIT ?)
  WHERE attention = 0 AND finished_at >= ? GROUP BY 1, 2, 3 ORDER BY newest DESC`;
/** In the very words of the index, `losingFrom` included. */
const LOSING = `SELECT * FROM tasks
  WHERE project = ? AND losses >= 2 AND status IN ('queued', 'running') ORDER BY id DESC LIMIT ?`;
