import type { Note, Reads, Transaction } from '../../ports/store.ts';
import { type GroupCommit, GroupLost } from '../command-queue.ts';
import { ATTEMPT_CHANGING, TASK_CHANGING } from './columns.ts';
import type { Connection } from './connection.ts';
import { journalReads, journalWrites } from './journal.ts';
import type { KeptFiles } from './kept-files.ts';
import { KeptRows } from './kept-rows.ts';
import { keyReads, keyWrites } from './keys.ts';
import { type Kept, taskReads } from './task-reads.ts';
import { taskWrites } from './task-writes.ts';
import { workerReads, workerWrites } from './workers.ts';

export const sqliteReads = (c: Connection, kept?: Kept): Reads => ({
  ...taskReads(c, kept),
  ...journalReads(c),
  ...workerReads(c),
  ...keyReads(c),
});

/** Commands of one commit, each in a savepoint of its own. */
export class SqliteGroup implements GroupCommit<Transaction> {
  readonly #c: Connection;
  readonly #files: KeptFiles;
  readonly #now: () => number;
  /** One time for the whole group: instants of commands that share a commit may be the same. */
  #nowMs = 0;
  #changesBefore = 0;
  #notes: Note[] = [];
  readonly #kept: Kept;
  readonly #transaction: Transaction;

  constructor(c: Connection, now: () => number, files: KeptFiles) {
    this.#c = c;
    this.#files = files;
    this.#now = now;
    const at = () => this.#nowMs;
    this.#kept = {
      tasks: new KeptRows(c, 'tasks', TASK_CHANGING),
      attempts: new KeptRows(c, 'attempts', ATTEMPT_CHANGING),
    };
    this.#transaction = {
      ...sqliteReads(c, this.#kept),
      ...taskWrites(c, at, this.#kept),
      ...journalWrites(c, at),
      ...workerWrites(c, at),
      ...keyWrites(c, at),
      get nowMs() {
        return at();
      },
      announce: (note) => this.#notes.push(note),
    };
  }

  begin(): void {
    this.#files.checkSometimes();
    this.#nowMs = this.#now();
    this.#changesBefore = this.#c.changes;
    this.#c.step('BEGIN IMMEDIATE');
  }

  async command<T>(
    work: (tx: Transaction) => Promise<T>,
  ): Promise<{ value: T; notes: readonly Note[] }> {
    this.#notes = [];
    this.#kept.tasks.forget();
    this.#kept.attempts.forget();
    this.#c.step('SAVEPOINT command');
    try {
      const value = await work(this.#transaction);
      this.#c.step('RELEASE command');
      return { value, notes: this.#notes };
    } catch (error) {
      // A full or failing disk makes SQLite give up the whole transaction, not the statement alone.
      if (!this.#c.database.isTransaction) throw new GroupLost(error);
      this.#c.step('ROLLBACK TO command');
      this.#c.step('RELEASE command');
      throw error;
    }
  }

  commit(): boolean {
    this.#c.step('COMMIT');
    // What was written into removed files is not kept.
    this.#files.check();
    return this.#c.changes > this.#changesBefore;
  }

  rollback(): void {
    if (this.#c.database.isTransaction) this.#c.step('ROLLBACK');
  }
}
