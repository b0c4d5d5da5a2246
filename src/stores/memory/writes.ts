import type { AttemptState, TaskState } from '../../core/task.ts';
import type {
  Reads,
  StoredEvent,
  StoredLogLine,
  TaskFacts,
  TaskRow,
  Transaction,
} from '../../ports/store.ts';
import { type KeptAttempt, type KeptTask, key, type Table, type Tables } from './tables.ts';

export function memoryWrites(
  t: Tables,
  now: () => number,
): Omit<Transaction, keyof Reads | 'nowMs'> {
  const keepTask = (ref: number, task: TaskState, facts: TaskFacts, more: Partial<KeptTask>) => {
    const before = t.tasks.get(ref)?.task;
    for (const part of ['result', 'checkpoint'] as const) {
      const text = task[`${part}Json`];
      if (text !== undefined && text !== before?.[`${part}Json`])
        t.payloads.set(key(part, ref), text);
    }
    const queued = task.status === 'queued';
    t.tasks.set(ref, {
      rank: 0,
      requestHash: undefined,
      ...t.tasks.get(ref),
      ...more,
      ref,
      task,
      ready: queued && task.availableAtMs <= now(),
      dueAtMs: facts.dueAtMs,
      attention: facts.attention,
    });
    if (queued) t.queued.set(ref, true);
    else t.queued.delete(ref);
    if (facts.dueAtMs === undefined) t.dated.delete(ref);
    else t.dated.set(ref, true);
  };
  const keepAttempt = (ref: number, taskRef: number, attempt: AttemptState) => {
    t.attempts.set(ref, { ref, taskRef, attempt });
    if (attempt.endedAtMs === undefined) t.open.set(ref, true);
    else t.open.delete(ref);
    return { ref, attempt };
  };
  const loaded = (ref: number): TaskRow => {
    const { task } = t.tasks.get(ref) as KeptTask;
    return { ref, task: { ...task, resultJson: undefined, checkpointJson: undefined } };
  };
  const unique = (taken: boolean, what: string) => {
    if (taken) throw new Error(`the store already has this ${what}`);
  };

  return {
    async insertTask(task, facts) {
      const { idempotencyKey } = task;
      const name = idempotencyKey === undefined ? undefined : key(task.project, idempotencyKey);
      if (name !== undefined && t.idempotency.get(name) !== undefined) return undefined;
      const ref = t.nextRef();
      unique(t.taskRefs.get(task.id) !== undefined, 'task id');
      if (name !== undefined) t.idempotency.set(name, ref);
      t.taskRefs.set(task.id, ref);
      t.payloads.set(key('input', ref), facts.inputJson);
      keepTask(ref, task, facts, { rank: facts.rank, requestHash: facts.requestHash });
      return { ref, task };
    },
    async saveTask(row, task, facts) {
      keepTask(row.ref, task, facts, {});
      return { ref: row.ref, task };
    },
    async saveDue(row, dueAtMs) {
      const kept = t.tasks.get(row.ref) as KeptTask;
      t.tasks.set(row.ref, { ...kept, dueAtMs });
      if (dueAtMs === undefined) t.dated.delete(row.ref);
      else t.dated.set(row.ref, true);
    },
    async saveRank(row, rank) {
      t.tasks.set(row.ref, { ...(t.tasks.get(row.ref) as KeptTask), rank });
    },
    async insertAttempt(row, attempt) {
      unique(t.attemptRefs.get(attempt.id) !== undefined, 'attempt id');
      const ref = t.nextRef();
      t.attemptRefs.set(attempt.id, ref);
      return keepAttempt(ref, row.ref, attempt);
    },
    async saveAttempt(row, attempt) {
      return keepAttempt(row.ref, (t.attempts.get(row.ref) as KeptAttempt).taskRef, attempt);
    },

    async addEvents(taskRef, firstSeq, events) {
      const journal = t.events.get(taskRef) ?? [];
      const last = journal.at(-1)?.seq ?? 0;
      unique(events.length > 0 && firstSeq <= last, 'journal entry');
      const added = events.map(
        (event, index): StoredEvent => ({
          seq: firstSeq + index,
          atMs: now(),
          kind: event.kind,
          attemptId: event.attemptId,
          fence: event.fence,
          by: event.by,
          data: event.data,
        }),
      );
      t.events.set(taskRef, [...journal, ...added]);
    },
    async addLogs(taskRef, attemptNumber, lines, bounds) {
      const before = t.logs.get(taskRef) ?? { lastN: 0, lines: [] };
      let lastN = before.lastN;
      const all: StoredLogLine[] = [
        ...before.lines,
        ...lines.map((line) => ({ n: ++lastN, attempt: attemptNumber, ...line })),
      ];
      const tooMuch = () =>
        all.length > bounds.lines ||
        (all.length > 1 && all.reduce((sum, { text }) => sum + text.length, 0) > bounds.chars);
      while (tooMuch()) all.splice(0, Math.max(1, Math.floor(all.length / 4)));
      t.logs.set(taskRef, { lastN, lines: all });
    },
    async addAction(taskRef, actionId, action) {
      unique(t.actions.get(key(taskRef, actionId)) !== undefined, 'action id');
      t.actions.set(key(taskRef, actionId), { ...action, atMs: now() });
    },

    async claimable({ project, pools, want, max }) {
      const left = new Map(want.map((w) => [key(w.type, w.schemaVersion), w.slots]));
      const fits = t.queued
        .entries()
        .map(([ref]) => t.tasks.get(ref) as KeptTask)
        .filter(
          ({ task, ready }) =>
            ready &&
            task.availableAtMs <= now() &&
            task.project === project &&
            pools.includes(task.pool) &&
            (task.deadlineMs === undefined || task.deadlineMs > now()),
        )
        .sort((a, b) => a.rank - b.rank || a.ref - b.ref);
      const rows: TaskRow[] = [];
      for (const { ref, task } of fits) {
        if (rows.length >= max) break;
        const name = key(task.type, task.schemaVersion);
        const slots = left.get(name) ?? 0;
        if (slots <= 0) continue;
        left.set(name, slots - 1);
        rows.push(loaded(ref));
      }
      return rows;
    },
    async addClaim({ project, workerId, sessionId, requestId }, attemptIds) {
      const name = key(project, workerId, sessionId, requestId);
      unique(t.claims.get(name) !== undefined, 'request id');
      t.claims.set(name, { atMs: now(), attempts: attemptIds });
    },
    async makeAvailable(limit) {
      const come = t.queued
        .entries()
        .map(([ref]) => t.tasks.get(ref) as KeptTask)
        .filter(({ ready, task }) => !ready && task.availableAtMs <= now())
        .sort((a, b) => a.task.availableAtMs - b.task.availableAtMs)
        .slice(0, limit);
      return come.map((kept) => {
        t.tasks.set(kept.ref, { ...kept, ready: true });
        const { project, pool, type, schemaVersion } = kept.task;
        return { project, pool, type, schemaVersion };
      });
    },
    async due(limit) {
      return t.dated
        .entries()
        .map(([ref]) => t.tasks.get(ref) as KeptTask)
        .filter(({ dueAtMs }) => (dueAtMs ?? Infinity) <= now())
        .sort((a, b) => (a.dueAtMs ?? 0) - (b.dueAtMs ?? 0) || a.ref - b.ref)
        .slice(0, limit)
        .map(({ ref }) => loaded(ref));
    },
    async openAttemptsAfter(ref, limit) {
      return t.open
        .entries()
        .map(([open]) => t.attempts.get(open) as KeptAttempt)
        .filter((kept) => kept.ref > ref)
        .sort((a, b) => a.ref - b.ref)
        .slice(0, limit)
        .map((kept) => ({
          row: loaded(kept.taskRef),
          attempt: { ref: kept.ref, attempt: kept.attempt },
        }));
    },

    async queuedAhead(after, limit) {
      return t.queued
        .entries()
        .map(([ref]) => t.tasks.get(ref) as KeptTask)
        .filter(
          ({ ref, task: { queuedAtMs, notBeforeMs, createdAtMs } }) =>
            (queuedAtMs - after.queuedAtMs || ref - after.ref) > 0 &&
            queuedAtMs > now() &&
            (queuedAtMs !== notBeforeMs || createdAtMs > now()),
        )
        .sort((a, b) => a.task.queuedAtMs - b.task.queuedAtMs || a.ref - b.ref)
        .slice(0, limit)
        .map(({ ref }) => loaded(ref));
    },

    async saveWorker(worker) {
      t.workers.set(key(worker.project, worker.workerId), worker);
    },
    async saveHandlers(project, workerId, handlers) {
      if (t.workers.get(key(project, workerId))) t.handlers.set(key(project, workerId), handlers);
    },
    async touchWorker(project, workerId, sessionId, gapMs) {
      const worker = t.workers.get(key(project, workerId));
      if (worker?.sessionId === sessionId && worker.lastSeenMs < now() - gapMs)
        t.workers.set(key(project, workerId), { ...worker, lastSeenMs: now() });
    },
    async saveSession(project, workerId, sessionId, superseded) {
      t.sessions.set(key(project, workerId, sessionId), {
        superseded,
        atMs: now(),
        worker: key(project, workerId),
        sessionId,
      });
    },

    async insertKey(row) {
      unique(t.keys.get(row.hash) !== undefined, 'key');
      t.keys.set(row.hash, row);
      t.keyIds.set(row.id, row.hash);
    },
    async revokeKey(id) {
      const row = t.keys.get(t.keyIds.get(id) ?? '');
      if (row && row.revokedAtMs === undefined)
        t.keys.set(row.hash, { ...row, revokedAtMs: now() });
    },
    async stampKeys(usedAtMs) {
      for (const [id, at] of usedAtMs) {
        const row = t.keys.get(t.keyIds.get(id) ?? '');
        if (row && (row.lastUsedAtMs ?? Number.NEGATIVE_INFINITY) < at)
          t.keys.set(row.hash, { ...row, lastUsedAtMs: at });
      }
    },
    async forget(beforeMs, limit) {
      let forgotten = 0;
      const drop = <K, V>(
        table: { entries(): [K, V][]; delete(key: K): boolean },
        atMs: (value: V) => number,
        keep: (value: V) => boolean = () => false,
      ) => {
        const old = table.entries().filter(([, value]) => atMs(value) < beforeMs && !keep(value));
        for (const [name] of old.slice(0, limit)) if (table.delete(name)) forgotten++;
      };
      drop(t.claims, ({ atMs }) => atMs);
      drop(t.actions, ({ atMs }) => atMs);
      drop(
        t.sessions,
        ({ atMs }) => atMs,
        ({ worker, sessionId }) => t.workers.get(worker)?.sessionId === sessionId,
      );
      const busy = new Set(
        t.open.entries().map(([ref]) => {
          const { attempt } = t.attempts.get(ref) as KeptAttempt;
          return key(attempt.project, attempt.workerId);
        }),
      );
      drop(
        t.workers,
        ({ lastSeenMs }) => lastSeenMs,
        ({ project, workerId }) => busy.has(key(project, workerId)),
      );
      return forgotten;
    },

    async stampAsOfNow(what) {
      const nowMs = now();
      let changed = 0;
      let aheadMs = 0;
      const stamp = <V>(
        table: Table<string, V>,
        at: (value: V) => number,
        set: (value: V) => V,
      ) => {
        for (const [name, value] of table.entries()) {
          if (at(value) <= nowMs) continue;
          aheadMs = Math.max(aheadMs, at(value) - nowMs);
          table.set(name, set(value));
          changed++;
        }
      };
      const atMs = (value: { readonly atMs: number }) => value.atMs;
      if (what === 'workers')
        stamp(
          t.workers,
          ({ lastSeenMs }) => lastSeenMs,
          (worker) => ({ ...worker, lastSeenMs: nowMs }),
        );
      else if (what === 'sessions') stamp(t.sessions, atMs, (value) => ({ ...value, atMs: nowMs }));
      else if (what === 'claims') stamp(t.claims, atMs, (value) => ({ ...value, atMs: nowMs }));
      else stamp(t.actions, atMs, (value) => ({ ...value, atMs: nowMs }));
      return { changed, aheadMs };
    },

    announce(note) {
      t.notes.push(note);
    },
  };
}
