import type { HandlerInfo, KeyKind, TaskStatus } from '../contract/index.ts';
import type { AttemptState, NewEvent, TaskState } from '../core/task.ts';
import type {
  AttemptRow,
  AttemptSight,
  ClaimName,
  ClaimQuery,
  FailureGroup,
  KeyQuery,
  KeyRow,
  NewTaskFacts,
  Note,
  Payload,
  QueueGroup,
  QueuePlace,
  Spot,
  Stamped,
  StoredAction,
  StoredEvent,
  StoredLogLine,
  TaskFacts,
  TaskPage,
  TaskQuery,
  TaskRow,
  WorkerRow,
  WorkerSight,
} from './store-rows.ts';

export type * from './store-rows.ts';

/**
 * Where the control plane keeps the truth. The store decides nothing: it keeps what the machine in
 * `core/task*.ts` made, finds it again fast, and makes it durable.
 *
 * Promises:
 * - `write` runs its work in a transaction: all of it is kept, or, when it throws, none. Works run one after
 *   the other in the order of the calls; those that wait at the same moment may share one commit, yet each
 *   rolls back alone. The promise settles only after the commit is durable.
 * - A work may be run more than once, with another `nowMs`: where it, or one that shares its commit, throws. Only its last
 *   run is kept, answered and told in notes, so outside of the transaction it does nothing that may not be done twice, or
 *   for nothing.
 * - Inside a work only the transaction is awaited (no I/O, no timers): it holds the store. What writes may be called without
 *   waiting for what was called before: it is done in the order of the calls.
 * - Each reading method answers from one committed moment; a transaction also sees what it wrote itself.
 * - `nowMs` is the one clock that instants are decided by (of the database where many nodes share it). It
 *   does not run backwards, whatever happens to the machine's wall clock while the store is open.
 * - Notes are delivered after the commit, to every subscriber on every node, at most once, perhaps never.
 * - Texts come back as they were given, `\u0000` included. JSON texts are never parsed.
 */
export interface Store extends Reads {
  /** Random text, made with the store: part of every lease token, so tokens of another store never fit. */
  readonly epoch: string;
  /**
   * @param items how many things it does, where it does many: the work of one commit is bounded [1].
   * @param made makes of what the work came to what the caller gets, beside the disk that is at the commit: it must not tell
   *   anybody, nor be asynchronous. Where it throws, `write` rejects with that, and the work is kept all the same.
   */
  write<T, Made = T>(
    work: (tx: Transaction) => Soon<T>,
    items?: number,
    made?: (value: T) => Made,
  ): Promise<Made>;
  nowMs(): Promise<number>;
  /**
   * @param early is told of the same notes sooner: at the commit, while the disk is still at it, and also where that fails
   * then. For what may come to nothing: what is asked for because of it waits for the disk all the same.
   * @param within is told sooner still: before the commit, which what it writes at once joins, and again where the works are run
   * again.
   * @returns the end of the subscription.
   */
  subscribe(
    listener: (notes: readonly Note[]) => void,
    early?: (notes: readonly Note[]) => void,
    within?: (notes: readonly Note[]) => void,
  ): () => void;
  /** Since it was opened. */
  readonly stats: StoreStats;
  /**
   * Its files were taken away, or its disk could not keep what was written: everything is refused as `UNAVAILABLE` until it is
   * opened anew.
   */
  readonly lost?: 'files' | 'disk' | undefined;
  /** Waits for what was begun, refuses what comes after. Twice is fine. */
  close(): Promise<void>;
}

export interface StoreStats {
  /** That had something to keep. */
  readonly commits: number;
  /** Works that were carried out, however they ended. */
  readonly commands: number;
  /** Times that the store could keep nothing (a full disk): what was asked then was refused as `UNAVAILABLE`. */
  readonly failures: number;
}

export interface Reads {
  task(project: string, id: string): Promise<TaskRow | undefined>;
  /** The task that was submitted with this idempotency key. */
  taskByKey(
    project: string,
    idempotencyKey: string,
  ): Promise<{ readonly row: TaskRow; readonly requestHash: string } | undefined>;
  attempt(
    project: string,
    id: string,
  ): Promise<{ readonly row: TaskRow; readonly attempt: AttemptRow } | undefined>;
  /** The one that `task.attemptId` names. */
  latestAttempt(row: TaskRow): Promise<AttemptRow | undefined>;
  /** JSON text. */
  payload(taskRef: number, part: Payload): Promise<string | undefined>;
  /** Newest first. */
  tasks(query: TaskQuery): Promise<TaskPage>;
  /** Entries after `after`, oldest first. */
  events(taskRef: number, after: number, limit: number): Promise<readonly StoredEvent[]>;
  /** Lines after number `after`, oldest first. */
  logs(taskRef: number, after: number, limit: number): Promise<readonly StoredLogLine[]>;
  /** Number of the newest line; 0: there is none. */
  lastLog(taskRef: number): Promise<number>;
  action(taskRef: number, actionId: string): Promise<StoredAction | undefined>;
  queue(project: string): Promise<readonly QueueGroup[]>;
  /** How many tasks have that status, counted up to `atMost`: nobody counts a long list. */
  countTasks(project: string, status: TaskStatus, atMost: number): Promise<number>;
  /**
   * The newest `among` failed tasks by type, version and code, without those that wait for a decision or ended before
   * `sinceMs`; newest first.
   */
  failureGroups(project: string, among: number, sinceMs: number): Promise<readonly FailureGroup[]>;
  /** Queued or running tasks whose attempts were lost `losingFrom` times or more, newest first. */
  losingTasks(project: string, limit: number): Promise<readonly TaskRow[]>;

  worker(project: string, workerId: string): Promise<WorkerRow | undefined>;
  /** In the order of their ids. */
  workers(project: string): Promise<readonly WorkerSight[]>;
  handlers(project: string, workerId: string): Promise<readonly HandlerInfo[]>;
  /** Unended attempts of a worker, oldest first. */
  openAttempts(
    project: string,
    workerId: string,
  ): Promise<readonly { readonly row: TaskRow; readonly attempt: AttemptRow }[]>;
  countOpenAttempts(project: string, workerId: string): Promise<number>;
  /**
   * Attempts that were claimed from `fromMs` on, oldest first: of at most `most` rows, evenly spaced over the time, those of
   * the project. For people: it costs what `most` costs, however many there are.
   */
  attemptsSince(
    project: string,
    fromMs: number,
    most: number,
  ): Promise<{
    readonly rows: readonly AttemptSight[];
    /** 1: all of them; else every so-many-th was looked at. */
    readonly every: number;
  }>;
  /** Ended attempts of a worker among the `looked` newest of all, newest first. */
  endedAttempts(
    project: string,
    workerId: string,
    looked: number,
    limit: number,
  ): Promise<readonly AttemptSight[]>;
  /** Whether a session that was seen has been superseded; `undefined`: not seen (or forgotten). */
  session(
    project: string,
    workerId: string,
    sessionId: string,
  ): Promise<{ readonly superseded: boolean } | undefined>;
  /** Ids of the attempts that an earlier claim with this request id got. */
  claimed(claim: ClaimName): Promise<readonly string[] | undefined>;

  keyByHash(hash: string): Promise<KeyRow | undefined>;
  keyById(id: string): Promise<KeyRow | undefined>;
  keys(query: KeyQuery): Promise<readonly KeyRow[]>;
  /** Those that keys were made for, whatever has become of these; in the order of their names, at most 200. */
  projects(): Promise<readonly string[]>;
  /** Of all projects, whatever has become of them. */
  countKeys(): Promise<number>;
  /** Of a project and kind, neither revoked nor expired at that time. */
  countUsableKeys(project: string, kind: KeyKind, atMs: number): Promise<number>;
  /** Of all projects. It only grows, so that a change tells that some were revoked, also by another process. */
  countRevokedKeys(): Promise<number>;

  /** When the next row becomes due or available by itself. */
  nextTimeMs(): Promise<number | undefined>;
}

/** At once where nothing has to be waited for: thousands of promises a second are a cost. */
export type Soon<T> = T | Promise<T>;

export interface Transaction extends Reads {
  /** Whole milliseconds since 1970, the same throughout the transaction. */
  readonly nowMs: number;

  /** `undefined`: the project has a task with this idempotency key, and nothing was written. */
  insertTask(task: TaskState, facts: TaskFacts & NewTaskFacts): Soon<TaskRow | undefined>;
  /** Payloads are written where they are given and differ from those of `row`. */
  saveTask(row: TaskRow, task: TaskState, facts: TaskFacts): Soon<TaskRow>;
  /** Only when it is due has changed (a renewal). */
  saveDue(row: TaskRow, dueAtMs: number | undefined): Soon<void>;
  /** A task that was created ahead of the clock would stand behind all that came after it. */
  saveRank(row: TaskRow, rank: number): Soon<void>;
  insertAttempt(row: TaskRow, attempt: AttemptState): Soon<AttemptRow>;
  saveAttempt(row: AttemptRow, attempt: AttemptState): Soon<AttemptRow>;
  /** The first gets number `firstSeq`, the next one more. */
  addEvents(taskRef: number, firstSeq: number, events: readonly NewEvent[]): Soon<void>;
  /** Appends; the oldest lines go where the bounds are passed. */
  addLogs(
    taskRef: number,
    attemptNumber: number,
    lines: readonly { readonly at: string; readonly level: string; readonly text: string }[],
    bounds: { readonly lines: number; readonly chars: number },
  ): Promise<void>;
  addAction(taskRef: number, actionId: string, action: Omit<StoredAction, 'atMs'>): Promise<void>;

  /** Tasks that may be claimed now, in the order of their rank. */
  claimable(query: ClaimQuery): Promise<readonly TaskRow[]>;
  addClaim(claim: ClaimName, attemptIds: readonly string[]): Promise<void>;
  /** Marks queued tasks whose time has come, and says which: somebody should be woken for them. */
  makeAvailable(limit: number): Promise<readonly Spot[]>;
  /** Tasks whose due time has come, earliest first. */
  due(limit: number): Promise<readonly TaskRow[]>;
  /** Unended attempts of all projects in the order of `ref`, with their tasks. */
  openAttemptsAfter(
    ref: number,
    limit: number,
  ): Promise<readonly { readonly row: TaskRow; readonly attempt: AttemptRow }[]>;

  /**
   * Queued tasks behind this place of the queue that were queued, or created, ahead of the clock, in the order of
   * `queuedAtMs` and `ref`; not those that only wait for their `notBeforeAt`.
   */
  queuedAhead(after: QueuePlace, limit: number): Promise<readonly TaskRow[]>;

  saveWorker(worker: WorkerRow): Promise<void>;
  saveHandlers(project: string, workerId: string, handlers: readonly HandlerInfo[]): Promise<void>;
  /** A sign of life of the current session, written only if the last one is older than `gapMs`. */
  touchWorker(project: string, workerId: string, sessionId: string, gapMs: number): Promise<void>;
  saveSession(
    project: string,
    workerId: string,
    sessionId: string,
    superseded: boolean,
  ): Promise<void>;

  insertKey(key: KeyRow): Promise<void>;
  /** Stamps it with `nowMs`; one that was revoked before keeps its stamp. */
  revokeKey(id: string): Promise<void>;
  /** When keys were used last, by id; an older time than the one that is kept changes nothing. */
  stampKeys(usedAtMs: ReadonlyMap<string, number>): Promise<void>;
  /** Sessions, claims, actions and silent workers from before this; at most `limit` of each. */
  forget(beforeMs: number, limit: number): Promise<number>;
  /**
   * Rows that are stamped ahead of the clock are stamped with `nowMs`, the newest first; at most `limit` are looked at.
   * @param before ref of a row; @returns how many were changed, how far ahead they were, where to go on if it is not done.
   */
  stampAsOfNow(
    what: Stamped,
    before: number,
    limit: number,
  ): Promise<{
    readonly changed: number;
    readonly aheadMs: number;
    readonly next?: number | undefined;
  }>;
  announce(note: Note): void;
}
