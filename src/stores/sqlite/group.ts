import type { Note, Reads, Transaction } from '../../ports/store.ts';
import { type GroupCommit, GroupLost } from '../command-queue.ts';
import type { Connection } from './connection.ts';
import { journalReads, journalWrites } from './journal.ts';
import type { KeptFiles } from './kept-files.ts';
import { keyReads, keyWrites } from './keys.ts';
import { taskReads } from './task-reads.ts';
import { taskWrites } from './task-writes.ts';
import { workerReads, workerWrites } from './workers.ts';

export const sqliteReads = (c: Connection): Reads => ({
  ...taskReads(c),
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
  readonly #transaction: Transaction;

  constructor(c: Connection, now: () => number, files: KeptFiles) {
    this.#c = c;
    this.#files = files;
    this.#now = now;
    const at = () => this.#nowMs;
    this.#transaction = {
      ...sqliteReads(c),
      ...taskWrites(c, at),
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
    this.#c.run('BEGIN IMMEDIATE');
  }

  async command<T>(
    work: (tx: Transaction) => Promise<T>,
  ): Promise<{ value: T; notes: readonly Note[] }> {
    this.#notes = [];
    this.#c.run('SAVEPOINT command');
    try {
      const value = await work(this.#transaction);
      this.#c.run('RELEASE command');
      return { value, notes: this.#notes };
    } catch (error) {
      // A full or failing disk makes SQLite give up the whole transaction, not the statement alone.
      if (!this.#c.database.isTransaction) throw new GroupLost(error);
      this.#c.run('ROLLBACK TO command');
      this.#c.run('RELEASE command');
      throw error;
    }
  }

  commit(): boolean {
    this.#c.run('COMMIT');
    // What was written into removed files is not kept.
    this.#files.check();
    return this.#c.changes > this.#changesBefore;
  }

  rollback(): void {
    if (this.#c.database.isTransaction) this.#c.run('ROLLBACK');
  }
}
