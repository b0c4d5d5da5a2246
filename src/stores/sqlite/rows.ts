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

export function attemptRow(row: Row, taskId: string, prefix = ''): AttemptRow {
  const at = (name: string) => row[prefix + name];
  const endOp = text(at('end_op'));
  const lateOp = text(at('late_op'));
  const attempt: AttemptState = {
    id: at('id') as string,
    taskId,
    project: at('project') as string,
    fence: at('fence') as number,
    number: at('number') as number,
    workerId: at('worker_id') as string,
    sessionId: at('session_id') as string,
    effectSafety: at('effect_safety') as EffectSafety,
    effectGate: at('effect_gate') as EffectGate,
    leaseMs: at('lease_ms') as number,
    leaseUntilMs: at('lease_until') as number,
    state: at('state') as AttemptPhase,
    claimedAtMs: at('claimed_at') as number,
    countedAtMs: number(at('counted_at')),
    startAccepted: at('start_accepted') === 1,
    effectAccepted: at('effect_accepted') === 1,
    progressN: at('progress_n') as number,
    logN: at('log_n') as number,
    endedAtMs: number(at('ended_at')),
    end: endOp === undefined ? undefined : { op: endOp, hash: at('end_hash') as string },
    late: lateOp === undefined ? undefined : { op: lateOp, hash: at('late_hash') as string },
  };
  return { ref: at('ref') as number, attempt };
}

/** The columns of an attempt under other names, for a statement that reads its task too. */
export const ATTEMPT_COLUMNS = [
  'ref',
  'id',
  'project',
  'fence',
  'number',
  'worker_id',
  'session_id',
  'effect_safety',
  'effect_gate',
  'lease_ms',
  'lease_until',
  'state',
  'claimed_at',
  'counted_at',
  'start_accepted',
  'effect_accepted',
  'progress_n',
  'log_n',
  'ended_at',
  'end_op',
  'end_hash',
  'late_op',
  'late_hash',
]
  .map((name) => `a.${name} AS a_${name}`)
  .join(', ');
