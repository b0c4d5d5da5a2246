import type {
  EventKind,
  HandlerInfo,
  KeptHandler,
  KeyKind,
  KeyLimits,
  PausedType,
  StuckHandler,
  TaskStatus,
  UnservedHandler,
} from '../contract/index.ts';
import type { AttemptState, TaskState } from '../core/task.ts';

/** What goes into a store and comes out of it. */

/** A task as the store keeps it. `ref` is its own short name for the row and never leaves the control plane. */
export interface TaskRow {
  readonly ref: number;
  /** `checkpointJson` is not loaded, `resultJson` only where the store keeps it with the task: else see `payload`. */
  readonly task: TaskState;
  /** Where the store keeps it with the task and this is what it read: else see `payload`. */
  readonly inputJson?: string | undefined;
}

export interface AttemptRow {
  readonly ref: number;
  readonly attempt: AttemptState;
}

/** An attempt as a history needs it. */
export interface AttemptSight {
  readonly id: string;
  readonly taskId: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly workerId: string;
  readonly state: AttemptState['state'];
  /** Since when it might have been claimed; known of the latest attempt of a task only. */
  readonly availableAtMs?: number | undefined;
  /** Its handler was given the input, as far as is known. */
  readonly countedAtMs?: number | undefined;
  readonly endedAtMs?: number | undefined;
}

export type Payload = 'input' | 'result' | 'checkpoint';

/** What the store has to find a task by, made by the machine. */
export interface TaskFacts {
  /** When the sweeper has to look at it; `undefined`: never by itself. */
  readonly dueAtMs: number | undefined;
  /** A person has to decide something. */
  readonly attention: boolean;
}

export interface NewTaskFacts {
  /** `claimRank`: smaller is sooner. Stays, unless the clock was set back. */
  readonly rank: number;
  readonly inputJson: string;
  /** With an idempotency key. */
  readonly requestHash?: string | undefined;
}

export interface TaskQuery {
  readonly project: string;
  /** Default: all. */
  readonly statuses?: readonly TaskStatus[];
  readonly type?: string | undefined;
  readonly schemaVersion?: number | undefined;
  readonly pool?: string | undefined;
  /** All must fit; without `value` the name must be there. */
  readonly labels?: readonly { readonly name: string; readonly value?: string | undefined }[];
  /** Bounds on the id, which grows with the time of creation; both excluded. */
  readonly aboveId?: string | undefined;
  readonly belowId?: string | undefined;
  readonly attention?: boolean;
  readonly limit: number;
}

/** `next`: go on with it as `belowId`; a page may be short or empty and yet have one (bounded scans). */
export interface TaskPage {
  readonly rows: readonly TaskRow[];
  readonly next?: string | undefined;
}

export interface StoredEvent {
  readonly seq: number;
  readonly atMs: number;
  readonly kind: EventKind;
  readonly attemptId?: string | undefined;
  readonly fence?: number | undefined;
  readonly by: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface StoredLogLine {
  readonly n: number;
  readonly attempt: number;
  readonly at: string;
  readonly level: string;
  readonly text: string;
}

/** The first answer to an action of a person. */
export interface StoredAction {
  readonly kind: 'cancel' | 'retry' | 'resolve';
  readonly atMs: number;
  readonly status: number;
  /** JSON text. */
  readonly body: string;
}

export interface ClaimName {
  readonly project: string;
  readonly workerId: string;
  readonly sessionId: string;
  readonly requestId: string;
}

export interface ClaimQuery {
  readonly project: string;
  readonly pools: readonly string[];
  /** Each type and version once; `slots` bounds how many of it. */
  readonly want: readonly {
    readonly type: string;
    readonly schemaVersion: number;
    readonly slots: number;
  }[];
  readonly max: number;
}

/** Where a task waits. */
export interface Spot {
  readonly project: string;
  readonly pool: string;
  readonly type: string;
  readonly schemaVersion: number;
}

/** In the order of being queued. */
export interface QueuePlace {
  readonly queuedAtMs: number;
  readonly ref: number;
}

/** What is remembered for a time: a worker's last sign of life, sessions, claims, actions of people. */
export type Stamped = 'workers' | 'sessions' | 'claims' | 'actions';

export interface QueueGroup extends Omit<Spot, 'project'> {
  readonly queued: number;
  readonly running: number;
  /** Creation of the oldest queued one. */
  readonly oldestQueuedAtMs?: number | undefined;
}

/** Failed tasks that are alike. */
export interface FailureGroup {
  readonly type: string;
  readonly schemaVersion: number;
  /** Of their errors. */
  readonly code: string;
  readonly tasks: number;
  readonly newestId: string;
}

export interface WorkerRow {
  readonly project: string;
  readonly workerId: string;
  /** The key that spoke for it last. */
  readonly keyId: string;
  /** The current session. Never shown. */
  readonly sessionId: string;
  readonly lastSeenMs: number;
  /** The session that an operator asked to drain. */
  readonly drainSessionId?: string | undefined;
  /** What it said of itself last (or what its claim tells, before it said anything). */
  readonly present?: WorkerPresence | undefined;
}

/** A worker with what it serves and how many unended attempts it has now. */
export interface WorkerSight {
  readonly worker: WorkerRow;
  readonly handlers: readonly HandlerInfo[];
  readonly openAttempts: number;
}

export interface WorkerPresence {
  readonly atMs: number;
  readonly state: 'ready' | 'full' | 'draining' | 'offline';
  readonly slots: { readonly max: number; readonly busy: number };
  readonly pools: readonly string[];
  readonly versions: Readonly<Record<string, string>>;
  readonly spool?:
    | {
        readonly pending: number;
        readonly bytes: number;
        readonly oldestMs: number | null;
        readonly ok: boolean;
      }
    | undefined;
  readonly notClaiming?: string | undefined;
  readonly pausedTypes?: readonly PausedType[] | undefined;
  readonly keptHandlers?: readonly KeptHandler[] | undefined;
  readonly unservedHandlers?: readonly UnservedHandler[] | undefined;
  readonly stuck?: readonly StuckHandler[] | undefined;
  readonly handlersHash?: string | undefined;
  /** Its wall clock against ours. */
  readonly clockOffsetMs?: number | undefined;
  /** Unended attempts when it said this. */
  readonly openAttempts: number;
}

export interface KeyRow {
  readonly id: string;
  readonly project: string;
  readonly name: string;
  readonly kind: KeyKind;
  /** SHA-256 of the key, hex. */
  readonly hash: string;
  readonly createdAtMs: number;
  /** From then on it is no key any more. */
  readonly expiresAtMs?: number | undefined;
  readonly revokedAtMs?: number | undefined;
  /** Behind the truth by up to a minute: not written for each request. */
  readonly lastUsedAtMs?: number | undefined;
  readonly limits?: KeyLimits | undefined;
}

/** Keys of a project, newest first. */
export interface KeyQuery {
  readonly project: string;
  /** Bound on the id, which grows with the time of creation; excluded. */
  readonly belowId?: string | undefined;
  readonly limit: number;
}

/** What others should look at again. Hints, never truth. */
export type Note =
  | ({ readonly kind: 'available' } & Spot)
  /** Given to a claim that had waited for it: nobody else need be told. */
  | ({ readonly kind: 'given' } & Spot)
  | {
      readonly kind: 'task';
      readonly project: string;
      readonly taskId: string;
      readonly seq: number;
      readonly status: TaskStatus;
    }
  | {
      readonly kind: 'cancel';
      readonly project: string;
      readonly workerId: string;
      readonly attemptId: string;
    }
  | { readonly kind: 'drain'; readonly project: string; readonly workerId: string }
  /** A key was revoked: whoever listens with it is cut. */
  | { readonly kind: 'key'; readonly project: string; readonly keyId: string }
  /** What is known of a worker has changed. */
  | { readonly kind: 'worker'; readonly project: string; readonly workerId: string }
  /** The current session of a worker is now this one. */
  | {
      readonly kind: 'session';
      readonly project: string;
      readonly workerId: string;
      readonly sessionId: string;
    };
