import type { EffectGate, EffectSafety, TaskStatus } from '../../contract/index.ts';
import type { AttemptPhase, AttemptState, TaskState } from '../../core/task.ts';
import type { AttemptRow, TaskRow } from '../../ports/store.ts';
import { ATTEMPT_COLUMNS, places, policyOf, TASK_COLUMNS } from './columns.ts';
import { json, number, text, type Values } from './connection.ts';
import type { Texts } from './texts.ts';

/** How rows (`SELECT *`) become the machine's states. */

export const T = places(TASK_COLUMNS);
export const A = places(ATTEMPT_COLUMNS);

export function taskRow(row: Values, texts: Texts): TaskRow {
  const id = row[T.id] as string;
  const labels = row[T.labels] as string;
  const task: TaskState = {
    id,
    project: row[T.project] as string,
    type: row[T.type] as string,
    schemaVersion: row[T.schema_version] as number,
    pool: row[T.pool] as string,
    priority: row[T.priority] as number,
    labels: labels === '{}' ? NO_LABELS : (JSON.parse(labels) as Record<string, string>),
    effectKey: (row[T.effect_key] as string) || id,
    idempotencyKey: text(row[T.idempotency_key]),
    traceparent: text(row[T.traceparent]),
    policy: policyOf(texts.text(row[T.policy] as string)),
    status: row[T.status] as TaskStatus,
    seq: row[T.seq] as number,
    createdAtMs: row[T.created_at] as number,
    startedAtMs: number(row[T.started_at]),
    finishedAtMs: number(row[T.finished_at]),
    notBeforeMs: number(row[T.not_before]),
    deadlineMs: number(row[T.deadline]),
    queuedAtMs: row[T.queued_at] as number,
    availableAtMs: row[T.available_at] as number,
    attempts: row[T.attempts] as number,
    permitted: row[T.permitted] as number,
    undelivered: row[T.undelivered] as number,
    losses: row[T.losses] as number,
    fence: row[T.fence] as number,
    attemptId: row[T.fence] === 0 ? undefined : text(row[T.attempt_id]),
    workerId: text(row[T.worker_id]),
    cancelRequested: row[T.cancel_requested] === 1,
    cancelReason: text(row[T.cancel_reason]),
    operatorSeq: row[T.operator_seq] as number,
    operatorFence: row[T.operator_fence] as number,
    error: json(row[T.error]),
    progress: json(row[T.progress]),
    lateReport: json(row[T.late_report]),
    resultJson: text(row[T.result]),
  };
  return { ref: row[0] as number, task, inputJson: text(row[T.input]) };
}

const NO_LABELS: Readonly<Record<string, string>> = Object.freeze({});

export function attemptRow(row: Values, taskId: string, texts: Texts): AttemptRow {
  const endOp = text(row[A.end_op]);
  const lateOp = text(row[A.late_op]);
  const attempt: AttemptState = {
    id: row[A.id] as string,
    taskId,
    project: row[A.project] as string,
    fence: row[A.fence] as number,
    number: row[A.number] as number,
    workerId: row[A.worker_id] as string,
    sessionId: texts.text(row[A.session_id] as string),
    effectSafety: row[A.effect_safety] as EffectSafety,
    effectGate: row[A.effect_gate] as EffectGate,
    leaseMs: row[A.lease_ms] as number,
    leaseUntilMs: row[A.lease_until] as number,
    state: row[A.state] as AttemptPhase,
    claimedAtMs: row[A.claimed_at] as number,
    countedAtMs: number(row[A.counted_at]),
    startAccepted: row[A.start_accepted] === 1,
    effectAccepted: row[A.effect_accepted] === 1,
    progressN: row[A.progress_n] as number,
    logN: row[A.log_n] as number,
    endedAtMs: number(row[A.ended_at]),
    end: endOp === undefined ? undefined : { op: endOp, hash: row[A.end_hash] as string },
    late: lateOp === undefined ? undefined : { op: lateOp, hash: row[A.late_hash] as string },
  };
  return { ref: row[0] as number, attempt };
}
