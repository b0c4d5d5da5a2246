import type { EffectGate, EffectSafety, Policy, TaskStatus } from '../../contract/index.ts';
import type { AttemptPhase, AttemptState, TaskState } from '../../core/task.ts';
import type { AttemptRow, TaskRow } from '../../ports/store.ts';
import { json, number, type Row, text } from './connection.ts';

/** How the machine's states become rows and come back. */

export function taskRow(row: Row): TaskRow {
  const labels = row.labels as string;
  const task: TaskState = {
    id: row.id as string,
    project: row.project as string,
    type: row.type as string,
    schemaVersion: row.schema_version as number,
    pool: row.pool as string,
    priority: row.priority as number,
    labels: labels === '{}' ? NO_LABELS : (JSON.parse(labels) as Record<string, string>),
    effectKey: row.effect_key as string,
    idempotencyKey: text(row.idempotency_key),
    traceparent: text(row.traceparent),
    policy: policyOf(row.policy as string),
    status: row.status as TaskStatus,
    seq: row.seq as number,
    createdAtMs: row.created_at as number,
    startedAtMs: number(row.started_at),
    finishedAtMs: number(row.finished_at),
    notBeforeMs: number(row.not_before),
    deadlineMs: number(row.deadline),
    queuedAtMs: row.queued_at as number,
    availableAtMs: row.available_at as number,
    attempts: row.attempts as number,
    permitted: row.permitted as number,
    undelivered: row.undelivered as number,
    losses: row.losses as number,
    fence: row.fence as number,
    attemptId: text(row.attempt_id),
    workerId: text(row.worker_id),
    cancelRequested: row.cancel_requested === 1,
    cancelReason: text(row.cancel_reason),
    operatorSeq: row.operator_seq as number,
    operatorFence: row.operator_fence as number,
    error: json(row.error),
    progress: json(row.progress),
    lateReport: json(row.late_report),
  };
  return { ref: row.ref as number, task };
}

const NO_LABELS: Readonly<Record<string, string>> = Object.freeze({});

/** Most tasks of a producer share one policy: its text is read once. */
const policies = new Map<string, Policy>();
const POLICIES_KEPT = 256;

function policyOf(source: string): Policy {
  let policy = policies.get(source);
  if (policy === undefined) {
    policy = JSON.parse(source) as Policy;
    if (policies.size >= POLICIES_KEPT) policies.clear();
    policies.set(source, policy);
  }
  return policy;
}

export function attemptRow(row: Row, taskId: string): AttemptRow {
  const endOp = text(row.end_op);
  const lateOp = text(row.late_op);
  const attempt: AttemptState = {
    id: row.id as string,
    taskId,
    project: row.project as string,
    fence: row.fence as number,
    number: row.number as number,
    workerId: row.worker_id as string,
    sessionId: row.session_id as string,
    effectSafety: row.effect_safety as EffectSafety,
    effectGate: row.effect_gate as EffectGate,
    leaseMs: row.lease_ms as number,
    leaseUntilMs: row.lease_until as number,
    state: row.state as AttemptPhase,
    claimedAtMs: row.claimed_at as number,
    countedAtMs: number(row.counted_at),
    startAccepted: row.start_accepted === 1,
    effectAccepted: row.effect_accepted === 1,
    progressN: row.progress_n as number,
    logN: row.log_n as number,
    endedAtMs: number(row.ended_at),
    end: endOp === undefined ? undefined : { op: endOp, hash: row.end_hash as string },
    late: lateOp === undefined ? undefined : { op: lateOp, hash: row.late_hash as string },
  };
  return { ref: row.ref as number, attempt };
}
