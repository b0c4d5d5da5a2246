/**
 * The task at the control plane: its state, and the commands that change it.
 *
 * Statuses: `queued` (by submit, by a permitted repeat, by an operator) → `running` (by a claim) →
 * `succeeded` | `failed` | `outcome-unknown` | `cancelled` | `expired`. An attempt: `leased` (claim) →
 * `started` (first report that counts) → `succeeded` | `failed` | `unknown` | `cancelled` | `lost` | `released`.
 *
 * Everything here is pure: `(now, task, attempt, command) → Change`. Instants are wall-clock milliseconds of
 * the one clock that the control plane (or its database) decides by; chance is an argument. The files:
 * `task-claim`, `task-report` (contract, section 1), `task-end` (the effect-safety table), `task-sweep`, `task-operator`.
 */
import type {
  EffectGate,
  EffectSafety,
  EventKind,
  Policy,
  ProblemCode,
  SubmitRequest,
  TaskErrorView,
  TaskStatus,
} from '../contract/index.ts';
import { completePolicy, defaultPolicy } from '../contract/policy.ts';
import { taskDefaults } from './defaults.ts';

export interface TaskState {
  readonly id: string;
  readonly project: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly pool: string;
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly effectKey: string;
  readonly idempotencyKey?: string | undefined;
  readonly traceparent?: string | undefined;
  readonly policy: Policy;
  readonly status: TaskStatus;
  /** Of the newest journal entry. */
  readonly seq: number;
  readonly createdAtMs: number;
  readonly startedAtMs?: number | undefined;
  readonly finishedAtMs?: number | undefined;
  readonly notBeforeMs?: number | undefined;
  readonly deadlineMs?: number | undefined;
  /** Since when it is queued (or, if later, may be claimed for the first time): `queueTimeoutMs` counts from here. */
  readonly queuedAtMs: number;
  /** May be claimed from here on: `notBeforeAt`, backoff. */
  readonly availableAtMs: number;
  /** Attempts that counted, and how many may. */
  readonly attempts: number;
  readonly permitted: number;
  readonly undelivered: number;
  /** Attempts that ended as lost: the first loss is queued again at once. */
  readonly losses: number;
  /** Of the latest attempt; 0 before the first. */
  readonly fence: number;
  readonly attemptId?: string | undefined;
  /** Who has it or had it last. */
  readonly workerId?: string | undefined;
  readonly cancelRequested: boolean;
  readonly cancelReason?: string | undefined;
  /** Of the last `retried` or `resolved` entry: a cancel from before it is not for what came after. */
  readonly operatorSeq: number;
  /** `fence` when an operator acted last: late reports up to it are not taken any more. */
  readonly operatorFence: number;
  /** JSON texts; the machine never looks inside. */
  readonly resultJson?: string | undefined;
  readonly checkpointJson?: string | undefined;
  readonly error?: TaskErrorView | undefined;
  readonly progress?:
    | { readonly percent?: number; readonly message?: string; readonly atMs: number }
    | undefined;
  /** The latest attempt has an outcome that came after it was lost. */
  readonly lateReport?:
    | {
        readonly op: 'complete' | 'fail' | 'unknown';
        readonly atMs: number;
        readonly resultJson?: string;
        readonly error?: TaskErrorView;
      }
    | undefined;
}

export type AttemptPhase =
  | 'leased'
  | 'started'
  | 'succeeded'
  | 'failed'
  | 'unknown'
  | 'cancelled'
  | 'lost'
  | 'released';

/** One attempt, as the control plane records it. `effectSafety` and `effectGate` are pinned by the claim. */
export interface AttemptState {
  readonly id: string;
  readonly taskId: string;
  readonly project: string;
  readonly fence: number;
  /** 1 for the first; what the worker is told. */
  readonly number: number;
  readonly workerId: string;
  readonly sessionId: string;
  readonly effectSafety: EffectSafety;
  readonly effectGate: EffectGate;
  readonly leaseMs: number;
  readonly leaseUntilMs: number;
  readonly state: AttemptPhase;
  readonly claimedAtMs: number;
  /** First accepted report that counts; `attemptTimeoutMs` is measured from here. */
  readonly countedAtMs?: number | undefined;
  readonly startAccepted: boolean;
  readonly effectAccepted: boolean;
  readonly progressN: number;
  readonly logN: number;
  readonly endedAtMs?: number | undefined;
  /** The report that ended it, for replay; absent where the sweeper did. */
  readonly end?: { readonly op: string; readonly hash: string } | undefined;
  /** The outcome that was recorded after it ended as lost. */
  readonly late?: { readonly op: string; readonly hash: string } | undefined;
}

export interface NewEvent {
  readonly kind: EventKind;
  readonly attemptId?: string;
  readonly fence?: number;
  readonly by: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Accepted, or refused with a code of the contract and a sentence. */
export type Verdict =
  | {
      readonly ok: true;
      readonly replayed?: boolean;
      readonly leaseMs?: number;
      readonly cancelRequested?: boolean;
    }
  | {
      readonly ok: false;
      readonly code: ProblemCode;
      readonly detail: string;
      readonly more?: Readonly<Record<string, unknown>>;
    };

/** What a command did. Without `task` and `attempt` nothing changed. Events get `seq` when they are stored. */
export interface Change {
  readonly task?: TaskState;
  readonly attempt?: AttemptState;
  readonly events: readonly NewEvent[];
  readonly verdict: Verdict;
}

export const refuse = (
  code: ProblemCode,
  detail: string,
  more?: Record<string, unknown>,
): Change => ({
  events: [],
  verdict: more ? { ok: false, code, detail, more } : { ok: false, code, detail },
});

/** @param id of the new task. @param by who submits, for the journal. */
export function submitTask(
  nowMs: number,
  request: SubmitRequest,
  facts: {
    readonly id: string;
    readonly project: string;
    readonly by: string;
    readonly defaults?: Policy;
  },
): { readonly task: TaskState; readonly events: readonly NewEvent[] } {
  const defaults = facts.defaults ?? defaultPolicy;
  // One object for all that bring none: its text is made once.
  const policy = request.policy === undefined ? defaults : completePolicy(request.policy, defaults);
  const notBeforeMs =
    request.notBeforeAt === undefined ? undefined : Date.parse(request.notBeforeAt);
  const availableAtMs = Math.max(nowMs, notBeforeMs ?? nowMs);
  const task: TaskState = {
    id: facts.id,
    project: facts.project,
    type: request.type,
    schemaVersion: request.schemaVersion,
    pool: request.pool ?? 'default',
    priority: request.priority ?? 0,
    labels: request.labels ?? {},
    effectKey: request.effectKey ?? facts.id,
    idempotencyKey: request.idempotencyKey,
    traceparent: request.traceparent,
    policy,
    status: 'queued',
    seq: 1,
    createdAtMs: nowMs,
    notBeforeMs,
    deadlineMs: policy.deadlineAt === null ? undefined : Date.parse(policy.deadlineAt),
    queuedAtMs: availableAtMs,
    availableAtMs,
    attempts: 0,
    permitted: policy.maxAttempts,
    undelivered: 0,
    losses: 0,
    fence: 0,
    cancelRequested: false,
    operatorSeq: 0,
    operatorFence: 0,
  };
  return {
    task,
    events: [
      {
        kind: 'submitted',
        by: facts.by,
        data: { type: task.type, schemaVersion: task.schemaVersion, pool: task.pool },
      },
    ],
  };
}

/**
 * The order of claims: priority with ageing, then age. Both grow at the same speed for every task, so the
 * order between two never changes with time and can be an index: smaller is sooner.
 */
export function claimRank(task: Pick<TaskState, 'createdAtMs' | 'priority'>): number {
  return task.createdAtMs - task.priority * taskDefaults.ageingMsPerPoint;
}

/** `deadlineAt` has passed, or a cancel was asked for: the worker is told to stop. */
export function wantsStop(nowMs: number, task: TaskState): boolean {
  return task.cancelRequested || deadlinePassed(nowMs, task);
}

export function deadlinePassed(nowMs: number, task: TaskState): boolean {
  return task.deadlineMs !== undefined && nowMs >= task.deadlineMs;
}

export function ended(attempt: AttemptState): boolean {
  return attempt.state !== 'leased' && attempt.state !== 'started';
}

/** The attempt that may change its task: the latest one, not ended. */
export function isCurrent(task: TaskState, attempt: AttemptState): boolean {
  return task.status === 'running' && task.attemptId === attempt.id && !ended(attempt);
}
