import type { Policy } from '../../contract/index.ts';
import type { AttemptState, TaskState } from '../../core/task.ts';
import { jsonOrNull, type Value } from './connection.ts';

/** The columns of tasks and attempts in the order of their tables: those that never change, those that may, and one that came later. */

const TASK_FIXED = [
  'id',
  'project',
  'type',
  'schema_version',
  'pool',
  'priority',
  'labels',
  'effect_key',
  'idempotency_key',
  'request_hash',
  'traceparent',
  'created_at',
  'not_before',
  'rank',
] as const;

export const TASK_CHANGING = [
  'policy',
  'status',
  'ready',
  'seq',
  'started_at',
  'finished_at',
  'deadline',
  'queued_at',
  'available_at',
  'attempts',
  'permitted',
  'undelivered',
  'losses',
  'fence',
  'attempt_id',
  'worker_id',
  'cancel_requested',
  'cancel_reason',
  'operator_seq',
  'operator_fence',
  'error',
  'progress',
  'late_report',
  'attention',
  'due_at',
  'result',
] as const;

const ATTEMPT_FIXED = [
  'id',
  'task',
  'project',
  'fence',
  'number',
  'worker_id',
  'session_id',
  'effect_safety',
  'effect_gate',
  'lease_ms',
  'claimed_at',
] as const;

export const ATTEMPT_CHANGING = [
  'lease_until',
  'state',
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
] as const;

/** Where a column stands in a row: `ref` is the first. */
export function places<Name extends string>(
  names: readonly Name[],
): Readonly<Record<Name, number>> {
  return Object.fromEntries(names.map((name, i) => [name, i + 1])) as Record<Name, number>;
}

export const TASK_COLUMNS = [...TASK_FIXED, ...TASK_CHANGING, 'input'] as const;
export const ATTEMPT_COLUMNS = [...ATTEMPT_FIXED, ...ATTEMPT_CHANGING] as const;

const marks = (names: readonly string[]) => names.map(() => '?').join(', ');
/** Changes nothing where the project has a task with this idempotency key: hardly ever, so nobody looks before. */
export const INSERT_TASK = `INSERT INTO tasks (${TASK_COLUMNS.join(', ')}) VALUES (${marks(TASK_COLUMNS)})
  ON CONFLICT (project, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING`;
export const INSERT_ATTEMPT = `INSERT INTO attempts (${ATTEMPT_COLUMNS.join(', ')}) VALUES (${marks(ATTEMPT_COLUMNS)})`;

/** In the order of `TASK_CHANGING`. */
export function taskValues(
  task: TaskState,
  facts: {
    /** As the row holds it. */
    readonly policy: string;
    readonly ready: boolean;
    readonly attention: boolean;
    readonly dueAtMs: number | undefined;
  },
): Value[] {
  return [
    facts.policy,
    task.status,
    facts.ready ? 1 : 0,
    task.seq,
    task.startedAtMs ?? null,
    task.finishedAtMs ?? null,
    task.deadlineMs ?? null,
    task.queuedAtMs,
    task.availableAtMs,
    task.attempts,
    task.permitted,
    task.undelivered,
    task.losses,
    task.fence,
    task.attemptId ?? (task.fence === 0 ? ROOM_IN_TASK : null),
    task.workerId ?? null,
    task.cancelRequested ? 1 : 0,
    task.cancelReason ?? null,
    task.operatorSeq,
    task.operatorFence,
    jsonOrNull(task.error),
    jsonOrNull(task.progress),
    jsonOrNull(task.lateReport),
    facts.attention ? 1 : 0,
    facts.dueAtMs ?? null,
    withTask(task.resultJson),
  ];
}

/** An input or a result as its task's row holds it: `null` where there is none, or where it is long and stands apart. */
export const withTask = (json: string | undefined): string | null =>
  json !== undefined && json.length <= LONGEST_WITH_TASK ? json : null;
/** Characters. Each change of a task writes them once more; a statement of their own for those in a table costs some 0.7 µs. */
const LONGEST_WITH_TASK = 256;

/** In the order of `ATTEMPT_CHANGING`. */
export function attemptValues(attempt: AttemptState): Value[] {
  return [
    attempt.leaseUntilMs,
    attempt.state,
    attempt.countedAtMs ?? null,
    attempt.startAccepted ? 1 : 0,
    attempt.effectAccepted ? 1 : 0,
    attempt.progressN,
    attempt.logN,
    attempt.endedAtMs ?? null,
    attempt.end?.op ?? null,
    attempt.end?.hash ?? ROOM_IN_ATTEMPT,
    attempt.late?.op ?? null,
    attempt.late?.hash ?? null,
  ];
}

/**
 * Rows are given the room that they will need: one that grows later splits its page. These stand where nothing is read yet: in the
 * attempt of a task that had none, in the hash of an end that did not come.
 */
const ROOM_IN_TASK = ' '.repeat(56);
const ROOM_IN_ATTEMPT = ' '.repeat(88);

/** Most tasks of a producer share one policy: its text is read once, and never made again. */
const policies = new Map<string, Policy>();
const POLICIES_KEPT = 256;
/** A policy is never changed in place. */
const texts = new WeakMap<Policy, string>();

export function policyOf(text: string): Policy {
  let policy = policies.get(text);
  if (policy === undefined) {
    policy = JSON.parse(text) as Policy;
    texts.set(policy, text);
    if (policies.size >= POLICIES_KEPT) policies.clear();
    policies.set(text, policy);
  }
  return policy;
}

export function policyText(policy: Policy): string {
  let text = texts.get(policy);
  if (text === undefined) {
    text = JSON.stringify(policy);
    texts.set(policy, text);
  }
  return text;
}
