import type { AttemptRow, TaskRow, Transaction } from '../../ports/store.ts';
import { ATTEMPT_CHANGING, TASK_CHANGING } from './columns.ts';
import type { Connection } from './connection.ts';
import { KeptRows } from './kept-rows.ts';
import { Touched } from './log-sync.ts';
import { QueueCounts } from './queue-counts.ts';
import { A, T } from './rows.ts';

/**
 * What the writer knows without reading, and holds without having written it. Of running tasks and their attempts it knows the rows from
 * one group to the next, since reports come for them; it is told of commits by other processes.
 */
export class Kept {
  readonly tasks: KeptRows<TaskRow>;
  readonly attempts: KeptRows<AttemptRow>;
  readonly counts: QueueCounts;
  readonly #c: Connection;
  #touched = new Touched();
  /** Changes that flushes made. */
  #flushed = 0;

  constructor(c: Connection) {
    this.#c = c;
    this.tasks = new KeptRows(c, 'tasks', TASK_CHANGING, T.policy);
    this.attempts = new KeptRows(c, 'attempts', ATTEMPT_CHANGING, A.lease_until);
    this.counts = new QueueCounts(c);
  }

  /** What the group under way has written to. */
  get touched(): Touched {
    return this.#touched;
  }

  /** A group begins. */
  begin(): void {
    this.#touched = new Touched();
  }

  /** Grows with each change that a command makes, held ones included, whoever writes those. */
  get written(): number {
    return this.tasks.saves + this.attempts.saves + this.#c.changes - this.#flushed;
  }

  /** Writes what is held: before a commit, and before anything is read that it may be part of. */
  flush(): void {
    const before = this.#c.changes;
    this.attempts.flush();
    this.tasks.flush(({ task }, was, is) => this.counts.moved(task, was[STATUS], is[STATUS]));
    this.counts.flush();
    // Where it fails all that it wrote counts as written by the command that asked.
    this.#flushed += this.#c.changes - before;
  }

  /** The group is committed. */
  settle(): void {
    this.#c.texts.settle();
    this.attempts.settle(({ attempt }) => attempt.endedAtMs === undefined);
    this.tasks.settle(
      ({ task }) =>
        task.status === 'running' && task.progress === undefined && task.error === undefined,
    );
  }

  /** Something was undone, or written by somebody else. */
  forget(): void {
    this.#c.texts.forget();
    this.attempts.forget();
    this.tasks.forget();
    this.counts.forget();
  }

  /** Lets those of `methods` flush first that look for more than one row by its id. */
  flushing<Methods extends Partial<Transaction>>(methods: Methods): Methods {
    const made: Record<string, unknown> = { ...methods };
    for (const [name, inner] of Object.entries(made)) {
      if (BY_ID.has(name as keyof Transaction)) continue;
      made[name] = (...given: unknown[]) => {
        this.flush();
        return (inner as (...given: unknown[]) => unknown)(...given);
      };
    }
    return made as Methods;
  }
}

const STATUS = TASK_CHANGING.indexOf('status');

/** They meet what is held in `KeptRows`, or look at and write other tables. */
const BY_ID: ReadonlySet<keyof Transaction> = new Set<keyof Transaction>([
  ...(['task', 'taskByKey', 'attempt', 'latestAttempt', 'payload'] as const),
  ...(['insertTask', 'saveTask', 'saveDue', 'saveRank', 'insertAttempt', 'saveAttempt'] as const),
  ...(['events', 'addEvents', 'logs', 'lastLog', 'addLogs', 'action', 'addAction'] as const),
  ...(['worker', 'saveWorker', 'handlers', 'saveHandlers', 'touchWorker'] as const),
  ...(['session', 'saveSession', 'claimed', 'addClaim'] as const),
  ...(['keyByHash', 'keyById'] as const),
]);
