import type { Note, Reads, Transaction } from '../../ports/store.ts';
import { type GroupCommit, GroupLost, GroupSpoilt } from '../command-queue.ts';
import { attemptSights } from './attempt-sights.ts';
import { attentionReads } from './attention.ts';
import type { Checkpoints } from './checkpoints.ts';
import { ATTEMPT_CHANGING, TASK_CHANGING } from './columns.ts';
import type { Connection } from './connection.ts';
import { journalReads, journalWrites } from './journal.ts';
import type { KeptFiles } from './kept-files.ts';
import { KeptRows } from './kept-rows.ts';
import { keyReads, keyWrites } from './keys.ts';
import { type LogSync, Touched } from './log-sync.ts';
import { type Kept, taskReads } from './task-reads.ts';
import { taskWrites } from './task-writes.ts';
import { workerReads, workerWrites } from './workers.ts';

export const sqliteReads = (c: Connection, kept?: Kept): Reads => ({
  ...taskReads(c, kept),
  ...attemptSights(c),
  ...attentionReads(c),
  ...journalReads(c),
  ...workerReads(c),
  ...keyReads(c),
});

/**
 * Commands of one commit; durable once the log is synced. Hardly one ever fails after it has written, so no savepoint is
 * made for it: with one open SQLite copies every page once more that a command is the first to change. Where one does,
 * all are undone and run again, each in a savepoint of its own.
 */
export class SqliteGroup implements GroupCommit<Transaction> {
  readonly #c: Connection;
  readonly #files: KeptFiles;
  readonly #log: LogSync | undefined;
  readonly #checkpoints: Checkpoints | undefined;
  readonly #now: () => number;
  /** One time for the whole group: instants of commands that share a commit may be the same. */
  #nowMs = 0;
  #changesBefore = 0;
  /** The group is run again: its commands have savepoints. */
  #apart = false;
  #notes: Note[] = [];
  readonly #kept: Kept;
  #touched = new Touched();
  readonly #transaction: Transaction;

  /** @param log `undefined`: every commit is durable by itself. @param checkpoints `undefined`: SQLite sees to the log. */
  constructor(
    c: Connection,
    now: () => number,
    files: KeptFiles,
    log?: LogSync,
    checkpoints?: Checkpoints,
  ) {
    this.#checkpoints = checkpoints;
    this.#c = c;
    this.#log = log;
    this.#files = files;
    this.#now = now;
    const at = () => this.#nowMs;
    this.#kept = {
      tasks: new KeptRows(c, 'tasks', TASK_CHANGING),
      attempts: new KeptRows(c, 'attempts', ATTEMPT_CHANGING),
      touched: () => this.#touched,
    };
    const { touched } = this.#kept;
    this.#transaction = {
      ...sqliteReads(c, this.#kept),
      ...taskWrites(c, at, this.#kept),
      ...journalWrites(c, at, touched),
      ...workerWrites(c, at),
      ...keyWrites(c, at, touched),
      get nowMs() {
        return at();
      },
      announce: (note) => this.#notes.push(note),
    };
  }

  begin(): void {
    this.#files.checkSometimes();
    this.#apart = false;
    this.#open();
  }

  again(): void {
    this.#apart = true;
    this.#c.step('ROLLBACK');
    this.#open();
  }

  #open(): void {
    this.#nowMs = this.#now();
    this.#changesBefore = this.#c.changes;
    this.#touched = new Touched();
    this.#c.step('BEGIN IMMEDIATE');
  }

  joined(): void {
    this.#nowMs = this.#now();
  }

  async command<T>(
    work: (tx: Transaction) => Promise<T>,
  ): Promise<{ value: T; notes: readonly Note[] }> {
    this.#notes = [];
    this.#kept.tasks.forget();
    this.#kept.attempts.forget();
    const before = this.#c.changes;
    if (this.#apart) this.#c.step('SAVEPOINT command');
    try {
      const value = await work(this.#transaction);
      if (this.#apart) this.#c.step('RELEASE command');
      // It took no notice of a statement that failed so.
      else if (!this.#c.database.isTransaction) throw new Error('The transaction is gone');
      return { value, notes: this.#notes };
    } catch (error) {
      // A full or failing disk makes SQLite give up the whole transaction, not the statement alone.
      if (!this.#c.database.isTransaction) throw new GroupLost(error);
      if (this.#apart) {
        this.#c.step('ROLLBACK TO command');
        this.#c.step('RELEASE command');
      } else if (this.#c.changes > before) throw new GroupSpoilt();
      // Else there is nothing to undo: a statement that fails undoes itself.
      throw error;
    }
  }

  commit(): boolean {
    // The disk failed while the group was open: what is refused all the same is not kept either.
    if (this.#files.loss !== undefined) throw this.#files.loss.error;
    this.#c.step('COMMIT');
    const changed = this.#c.changes > this.#changesBefore;
    // Whatever the check says, others see it from now on: whoever tells of it waits for this.
    if (changed) this.#log?.begin(this.#touched);
    // What was written into removed files is not kept.
    this.#files.check();
    this.#checkpoints?.look();
    return changed;
  }

  get pause(): Promise<void> | undefined {
    return this.#checkpoints?.pause;
  }

  get durable(): Promise<void> | undefined {
    return this.#log?.pending?.durable;
  }

  rollback(): void {
    if (this.#c.database.isTransaction) this.#c.step('ROLLBACK');
    this.#checkpoints?.look();
  }
}
