import type { AttemptState, TaskState } from '../core/task.ts';
import { type WorkerFacts, waitingFor } from '../core/waiting-for.ts';
import type { Reads, TaskRow } from '../ports/store.ts';
import { withRaw } from './answer.ts';
import type { Services } from './services.ts';

export interface ViewParts {
  readonly input?: boolean;
  readonly result?: boolean;
}

/** The JSON text of a TaskView. Payloads are put in as they are stored. */
export async function taskViewText(
  { store, facts }: Pick<Services, 'store' | 'facts'>,
  row: TaskRow,
  parts: ViewParts,
): Promise<string> {
  return viewText(store, row, parts, await store.nowMs(), await facts.of(row.task.project));
}

/** The same within a transaction, for answers that are stored with what they tell. */
export async function viewText(
  reads: Reads,
  row: TaskRow,
  parts: ViewParts,
  nowMs: number,
  facts: readonly WorkerFacts[],
): Promise<string> {
  const { task } = row;
  const silent = task.status === 'running' ? await reads.latestAttempt(row) : undefined;
  const result =
    parts.result && task.status === 'succeeded'
      ? (task.resultJson ?? (await reads.payload(row.ref, 'result')))
      : undefined;
  const input = parts.input ? await reads.payload(row.ref, 'input') : undefined;
  return withRaw(view(nowMs, task, silent?.attempt, facts), { result, input });
}

/** `undefined` members do not appear in JSON. */
function view(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState | undefined,
  facts: readonly WorkerFacts[],
): object {
  return {
    id: task.id,
    type: task.type,
    schemaVersion: task.schemaVersion,
    status: task.status,
    pool: task.pool,
    priority: task.priority,
    labels: task.labels,
    effectKey: task.effectKey,
    idempotencyKey: task.idempotencyKey,
    policy: task.policy,
    attempts: task.attempts,
    undelivered: task.undelivered,
    seq: task.seq,
    createdAt: instantText(task.createdAtMs),
    notBeforeAt: instantText(task.notBeforeMs),
    startedAt: instantText(task.startedAtMs),
    finishedAt: instantText(task.finishedAtMs),
    worker: task.workerId,
    progress: task.progress && {
      percent: task.progress.percent,
      message: task.progress.message,
      at: instantText(task.progress.atMs),
    },
    cancelRequested: task.cancelRequested || undefined,
    error: task.error,
    lateReport: task.lateReport && {
      op: task.lateReport.op,
      at: instantText(task.lateReport.atMs),
    },
    waitingFor: waitingFor(nowMs, task, attempt, facts),
  };
}

export function instantText(ms: number): string;
export function instantText(ms: number | undefined): string | undefined;
export function instantText(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
