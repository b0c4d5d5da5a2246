import type { AttemptSight, Reads, TaskPage, TaskQuery, TaskRow } from '../../ports/store.ts';
import { attentionReads } from './attention.ts';
import { type KeptAttempt, key, type Tables } from './tables.ts';

export function memoryReads(t: Tables): Reads {
  const taskByRef = (ref: number | undefined): TaskRow | undefined => {
    const kept = ref === undefined ? undefined : t.tasks.get(ref);
    // As in the other stores, payloads come only when they are asked for.
    return (
      kept && {
        ref: kept.ref,
        task: { ...kept.task, resultJson: undefined, checkpointJson: undefined },
      }
    );
  };
  const withTask = (kept: KeptAttempt) => ({
    row: taskByRef(kept.taskRef) as TaskRow,
    attempt: { ref: kept.ref, attempt: kept.attempt },
  });
  const sightOf = ({ taskRef, attempt }: KeptAttempt): AttemptSight => {
    const { task } = taskByRef(taskRef) as TaskRow;
    return {
      id: attempt.id,
      taskId: task.id,
      type: task.type,
      schemaVersion: task.schemaVersion,
      workerId: attempt.workerId,
      state: attempt.state,
      availableAtMs:
        task.attemptId === attempt.id ? Math.max(task.queuedAtMs, task.availableAtMs) : undefined,
      countedAtMs: attempt.countedAtMs,
      endedAtMs: attempt.endedAtMs,
    };
  };
  const openOf = (project: string, workerId: string) =>
    t.open
      .entries()
      .map(([ref]) => t.attempts.get(ref) as KeptAttempt)
      .filter(({ attempt }) => attempt.project === project && attempt.workerId === workerId)
      .sort((a, b) => a.ref - b.ref);

  return {
    ...attentionReads(t, taskByRef),
    async task(project, id) {
      const row = taskByRef(t.taskRefs.get(id));
      return row?.task.project === project ? row : undefined;
    },
    async taskByKey(project, idempotencyKey) {
      const ref = t.idempotency.get(key(project, idempotencyKey));
      const row = taskByRef(ref);
      return row && { row, requestHash: t.tasks.get(row.ref)?.requestHash as string };
    },
    async attempt(project, id) {
      const kept = t.attempts.get(t.attemptRefs.get(id) ?? 0);
      return kept?.attempt.project === project ? withTask(kept) : undefined;
    },
    async latestAttempt({ task }) {
      if (task.attemptId === undefined) return undefined;
      const kept = t.attempts.get(t.attemptRefs.get(task.attemptId) ?? 0);
      return kept && { ref: kept.ref, attempt: kept.attempt };
    },
    async openAttempts(project, workerId) {
      return openOf(project, workerId).map(withTask);
    },
    async countOpenAttempts(project, workerId) {
      return openOf(project, workerId).length;
    },
    async attemptsSince(project, fromMs, most) {
      const all = t.attempts.values().filter(({ attempt }) => attempt.claimedAtMs >= fromMs);
      const every = Math.max(1, Math.ceil(all.length / most));
      const rows = all.filter((kept, i) => i % every === 0 && kept.attempt.project === project);
      return { rows: rows.map(sightOf), every };
    },
    async endedAttempts(project, workerId, looked, limit) {
      return t.attempts
        .values()
        .slice(-looked)
        .reverse()
        .filter(
          ({ attempt }) =>
            attempt.project === project &&
            attempt.workerId === workerId &&
            attempt.endedAtMs !== undefined,
        )
        .slice(0, limit)
        .map(sightOf);
    },
    async payload(taskRef, part) {
      return t.payloads.get(key(part, taskRef));
    },
    async tasks(query) {
      return page(t, query, taskByRef);
    },
    async events(taskRef, after, limit) {
      return (t.events.get(taskRef) ?? []).filter(({ seq }) => seq > after).slice(0, limit);
    },
    async logs(taskRef, after, limit) {
      return (t.logs.get(taskRef)?.lines ?? []).filter(({ n }) => n > after).slice(0, limit);
    },
    async lastLog(taskRef) {
      return t.logs.get(taskRef)?.lastN ?? 0;
    },
    async action(taskRef, actionId) {
      return t.actions.get(key(taskRef, actionId));
    },
    async queue(project) {
      const groups = new Map<
        string,
        {
          pool: string;
          type: string;
          schemaVersion: number;
          queued: number;
          running: number;
          oldestQueuedAtMs: number | undefined;
        }
      >();
      for (const { task } of t.tasks.values()) {
        if (task.project !== project) continue;
        if (task.status !== 'queued' && task.status !== 'running') continue;
        const { pool, type, schemaVersion } = task;
        const name = key(pool, type, schemaVersion);
        const group = groups.get(name) ?? {
          pool,
          type,
          schemaVersion,
          queued: 0,
          running: 0,
          oldestQueuedAtMs: undefined,
        };
        group[task.status]++;
        if (task.status === 'queued')
          group.oldestQueuedAtMs = Math.min(group.oldestQueuedAtMs ?? Infinity, task.createdAtMs);
        groups.set(name, group);
      }
      return [...groups.values()];
    },

    async worker(project, workerId) {
      return t.workers.get(key(project, workerId));
    },
    async workers(project) {
      return t.workers
        .values()
        .filter((worker) => worker.project === project)
        .sort((a, b) => (a.workerId < b.workerId ? -1 : 1))
        .map((worker) => ({
          worker,
          handlers: t.handlers.get(key(project, worker.workerId)) ?? [],
          openAttempts: openOf(project, worker.workerId).length,
        }));
    },
    async handlers(project, workerId) {
      return t.handlers.get(key(project, workerId)) ?? [];
    },
    async session(project, workerId, sessionId) {
      const session = t.sessions.get(key(project, workerId, sessionId));
      return session && { superseded: session.superseded };
    },
    async claimed({ project, workerId, sessionId, requestId }) {
      return t.claims.get(key(project, workerId, sessionId, requestId))?.attempts;
    },

    async keyByHash(hash) {
      return t.keys.get(hash);
    },
    async keyById(id) {
      return t.keys.get(t.keyIds.get(id) ?? '');
    },
    async keys({ project, belowId, limit }) {
      return t.keys
        .values()
        .filter((row) => row.project === project && (belowId === undefined || row.id < belowId))
        .sort((a, b) => (a.id < b.id ? 1 : -1))
        .slice(0, limit);
    },
    async projects() {
      return [...new Set(t.keys.values().map((row) => row.project))].sort().slice(0, 200);
    },
    async countKeys() {
      return t.keys.size;
    },
    async countUsableKeys(project, kind, atMs) {
      return t.keys
        .values()
        .filter(
          (row) =>
            row.project === project &&
            row.kind === kind &&
            row.revokedAtMs === undefined &&
            (row.expiresAtMs === undefined || row.expiresAtMs > atMs),
        ).length;
    },
    async countRevokedKeys() {
      return t.keys.values().filter((row) => row.revokedAtMs !== undefined).length;
    },

    async nextTimeMs() {
      let next = Infinity;
      for (const [ref] of t.dated.entries())
        next = Math.min(next, t.tasks.get(ref)?.dueAtMs ?? Infinity);
      for (const [ref] of t.queued.entries()) {
        const kept = t.tasks.get(ref);
        if (kept && !kept.ready) next = Math.min(next, kept.task.availableAtMs);
      }
      return Number.isFinite(next) ? next : undefined;
    },
  };
}

function page(
  t: Tables,
  query: TaskQuery,
  taskByRef: (ref: number) => TaskRow | undefined,
): TaskPage {
  const fits = t.tasks
    .values()
    .filter(
      ({ task, attention }) =>
        task.project === query.project &&
        (query.statuses === undefined || query.statuses.includes(task.status)) &&
        (query.type === undefined || task.type === query.type) &&
        (query.schemaVersion === undefined || task.schemaVersion === query.schemaVersion) &&
        (query.pool === undefined || task.pool === query.pool) &&
        (query.aboveId === undefined || task.id > query.aboveId) &&
        (query.belowId === undefined || task.id < query.belowId) &&
        (!query.attention || attention) &&
        (query.labels ?? []).every(({ name, value }) =>
          value === undefined
            ? Object.hasOwn(task.labels, name)
            : Object.hasOwn(task.labels, name) && task.labels[name] === value,
        ),
    )
    .sort((a, b) => (a.task.id < b.task.id ? 1 : -1));
  const rows = fits.slice(0, query.limit).map(({ ref }) => taskByRef(ref) as TaskRow);
  return fits.length > query.limit ? { rows, next: rows.at(-1)?.task.id } : { rows };
}
