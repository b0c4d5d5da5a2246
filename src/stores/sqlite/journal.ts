import type { EventKind } from '../../contract/index.ts';
import type { Reads, StoredAction, Transaction } from '../../ports/store.ts';
import { type Connection, number, text } from './connection.ts';
import type { Kept } from './kept.ts';

/** What is kept about a task beside its row: journal, log lines, answers to people's actions. */

export function journalReads(c: Connection): Pick<Reads, 'events' | 'logs' | 'lastLog' | 'action'> {
  return {
    async events(taskRef, after, limit) {
      const rows = c.all(EVENTS, taskRef, after, limit);
      return rows.map((row) => ({
        seq: row.seq as number,
        atMs: row.at as number,
        kind: row.kind as EventKind,
        attemptId: text(row.attempt) ?? text(row.attempt_id),
        fence: number(row.fence),
        by: c.texts.text(row.by as string),
        data: JSON.parse(c.texts.text(row.data as string)) as Record<string, unknown>,
      }));
    },

    async logs(taskRef, after, limit) {
      const rows = c.all(
        'SELECT * FROM logs WHERE task = ? AND n > ? ORDER BY n LIMIT ?',
        taskRef,
        after,
        limit,
      );
      return rows.map((row) => ({
        n: row.n as number,
        attempt: row.attempt as number,
        at: row.at as string,
        level: row.level as string,
        text: row.text as string,
      }));
    },

    async lastLog(taskRef) {
      return (c.get('SELECT last_n FROM log_sizes WHERE task = ?', taskRef)?.last_n as number) ?? 0;
    },

    async action(taskRef, actionId) {
      const row = c.get(
        'SELECT * FROM actions WHERE task = ? AND action_id = ?',
        taskRef,
        actionId,
      );
      return (
        row && {
          kind: row.kind as StoredAction['kind'],
          atMs: row.at as number,
          status: row.status as number,
          body: row.body as string,
        }
      );
    },
  };
}

export function journalWrites(
  c: Connection,
  now: () => number,
  kept: Kept,
): Pick<Transaction, 'addEvents' | 'addLogs' | 'addAction'> {
  /** The ref of an attempt, in place of its id. */
  const refOf = (id: string | undefined) => id && kept.attempts.find(id)?.ref.toString();
  return {
    addEvents(taskRef, firstSeq, events) {
      kept.touched.tasks.add(taskRef);
      let seq = firstSeq;
      for (const event of events) {
        c.put(INSERT_EVENT, [
          taskRef,
          seq++,
          now(),
          event.kind,
          refOf(event.attemptId) ?? event.attemptId ?? null,
          event.fence ?? null,
          c.texts.hold(event.by),
          c.texts.hold(JSON.stringify(event.data)),
        ]);
      }
    },

    async addLogs(taskRef, attemptNumber, lines, bounds) {
      kept.touched.tasks.add(taskRef);
      const size = c.get('SELECT * FROM log_sizes WHERE task = ?', taskRef);
      let n = number(size?.last_n) ?? 0;
      let stored = number(size?.lines) ?? 0;
      let chars = number(size?.chars) ?? 0;
      for (const line of lines) {
        c.put(INSERT_LOG, [taskRef, ++n, attemptNumber, line.at, line.level, line.text]);
        stored++;
        chars += line.text.length;
      }
      while (stored > bounds.lines || (chars > bounds.chars && stored > 1)) {
        // A quarter at a time, so that the cutting is not done anew for each line.
        const cut = Math.max(1, Math.floor(stored / 4));
        const gone = c.removed(
          'DELETE FROM logs WHERE task = ? AND n <= ? RETURNING text',
          taskRef,
          n - stored + cut,
        );
        stored -= gone.length;
        for (const row of gone) chars -= (row.text as string).length;
        if (gone.length === 0) break;
      }
      c.run(
        // `OR REPLACE` would be a removal too, so that SQLite keeps a journal of the statement.
        `INSERT INTO log_sizes (task, last_n, lines, chars) VALUES (?, ?, ?, ?)
         ON CONFLICT (task) DO UPDATE SET last_n = excluded.last_n, lines = excluded.lines, chars = excluded.chars`,
        taskRef,
        n,
        stored,
        chars,
      );
    },

    async addAction(taskRef, actionId, action) {
      kept.touched.tasks.add(taskRef);
      c.run(
        'INSERT INTO actions (task, action_id, kind, at, status, body) VALUES (?, ?, ?, ?, ?, ?)',
        taskRef,
        actionId,
        action.kind,
        now(),
        action.status,
        action.body,
      );
    },
  };
}

const INSERT_EVENT =
  'INSERT INTO events (task, seq, at, kind, attempt_id, fence, by, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)';
const INSERT_LOG = 'INSERT INTO logs (task, n, attempt, at, level, text) VALUES (?, ?, ?, ?, ?, ?)';
/** An entry holds its attempt's ref where the writer knew it, else its id. */
const EVENTS = `SELECT e.*, a.id AS attempt FROM events AS e LEFT JOIN attempts AS a ON a.ref = e.attempt_id
  WHERE e.task = ? AND seq > ? ORDER BY seq LIMIT ?`;
