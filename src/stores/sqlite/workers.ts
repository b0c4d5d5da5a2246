import type { HandlerInfo } from '../../contract/index.ts';
import type { Reads, Transaction, WorkerPresence, WorkerRow } from '../../ports/store.ts';
import { type Connection, json, jsonOrNull, text, type Values } from './connection.ts';

/** Workers, their sessions and the claims they made. */

export function workerReads(
  c: Connection,
): Pick<Reads, 'worker' | 'workers' | 'handlers' | 'session' | 'claimed'> {
  return {
    async worker(project, workerId) {
      const row = c.values(
        `SELECT ${COLUMNS} FROM workers WHERE project = ? AND worker_id = ?`,
        project,
        workerId,
      );
      return row && workerRow(row);
    },

    async workers(project) {
      const rows = c.allValues(
        `SELECT ${COLUMNS}, handlers, (SELECT count(*) FROM attempts AS a
           WHERE a.project = w.project AND a.worker_id = w.worker_id AND a.ended_at IS NULL) AS open
         FROM workers AS w WHERE project = ? ORDER BY worker_id`,
        project,
      );
      return rows.map((row) => ({
        worker: workerRow(row),
        handlers: handlersOf(row[HANDLERS]),
        openAttempts: row[HANDLERS + 1] as number,
      }));
    },

    async handlers(project, workerId) {
      const row = c.values(
        'SELECT handlers FROM workers WHERE project = ? AND worker_id = ?',
        project,
        workerId,
      );
      return handlersOf(row?.[0]);
    },

    async session(project, workerId, sessionId) {
      const row = c.values(
        'SELECT superseded FROM sessions WHERE project = ? AND worker_id = ? AND session_id = ?',
        project,
        workerId,
        sessionId,
      );
      return row && { superseded: row[0] === 1 };
    },

    async claimed({ project, workerId, sessionId, requestId }) {
      const row = c.values(
        'SELECT attempts FROM claims WHERE project = ? AND worker_id = ? AND session_id = ? AND request_id = ?',
        project,
        workerId,
        sessionId,
        requestId,
      );
      return json<string[]>(row?.[0]);
    },
  };
}

const COLUMNS = 'project, worker_id, key_id, session_id, last_seen, drain_session_id, present';
/** Where they stand behind those. */
const HANDLERS = 7;

function workerRow(row: Values): WorkerRow {
  const [project, workerId, keyId, sessionId, lastSeen, drainSessionId, present] = row;
  return {
    project: project as string,
    workerId: workerId as string,
    keyId: keyId as string,
    sessionId: sessionId as string,
    lastSeenMs: lastSeen as number,
    drainSessionId: text(drainSessionId),
    present: json<WorkerPresence>(present),
  };
}

function handlersOf(found: unknown): readonly HandlerInfo[] {
  return json<HandlerInfo[]>(found) ?? [];
}

export function workerWrites(
  c: Connection,
  now: () => number,
): Pick<Transaction, 'saveWorker' | 'saveHandlers' | 'touchWorker' | 'saveSession' | 'addClaim'> {
  return {
    async saveWorker(worker) {
      c.run(
        `INSERT INTO workers (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (project, worker_id) DO UPDATE SET key_id = excluded.key_id, session_id = excluded.session_id,
           last_seen = excluded.last_seen, drain_session_id = excluded.drain_session_id, present = excluded.present`,
        worker.project,
        worker.workerId,
        worker.keyId,
        worker.sessionId,
        worker.lastSeenMs,
        worker.drainSessionId ?? null,
        jsonOrNull(worker.present),
      );
    },

    async saveHandlers(project, workerId, handlers) {
      c.run(
        'UPDATE workers SET handlers = ? WHERE project = ? AND worker_id = ?',
        JSON.stringify(handlers),
        project,
        workerId,
      );
    },

    async touchWorker(project, workerId, sessionId, gapMs) {
      c.run(
        'UPDATE workers SET last_seen = ? WHERE project = ? AND worker_id = ? AND session_id = ? AND last_seen < ?',
        now(),
        project,
        workerId,
        sessionId,
        now() - gapMs,
      );
    },

    async saveSession(project, workerId, sessionId, superseded) {
      c.run(
        `INSERT INTO sessions (project, worker_id, session_id, superseded, seen_at) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (project, worker_id, session_id) DO UPDATE SET superseded = excluded.superseded, seen_at = excluded.seen_at`,
        project,
        workerId,
        sessionId,
        superseded ? 1 : 0,
        now(),
      );
    },

    async addClaim({ project, workerId, sessionId, requestId }, attemptIds) {
      c.run(
        'INSERT INTO claims (project, worker_id, session_id, request_id, at, attempts) VALUES (?, ?, ?, ?, ?, ?)',
        project,
        workerId,
        sessionId,
        requestId,
        now(),
        JSON.stringify(attemptIds),
      );
    },
  };
}
