import type { Note, Reads, Soon, Transaction } from '../../ports/store.ts';
import { type GroupCommit, GroupLost, GroupSpoilt } from '../command-queue.ts';
import { attemptSights } from './attempt-sights.ts';
import { attentionReads } from './attention.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { Connection } from './connection.ts';
import { journalReads, journalWrites } from './journal.ts';
import { Kept } from './kept.ts';
import type { KeptFiles } from './kept-files.ts';
import { keyReads, keyWrites } from './keys.ts';
import type { LogSync } from './log-sync.ts';
import { taskReads } from './task-reads.ts';
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
  #keyChanges = 0;
  /** Of the database, as other processes change it. */
  #version: number | undefined;
  /** The group is run again: its commands have savepoints. */
  #apart = false;
  #notes: Note[] = [];
  readonly #kept: Kept;
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
    const kept = new Kept(c);
    this.#kept = kept;
    this.#transaction = {
      ...kept.flushing({
        ...sqliteReads(c, kept),
        ...taskWrites(c, at, kept),
        ...journalWrites(c, at, kept),
        ...workerWrites(c, at),
        ...keyWrites(c, at, kept),
      }),
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
    this.#undo('ROLLBACK');
    this.#open();
  }

  #open(): void {
    this.#nowMs = this.#now();
    this.#changesBefore = this.#c.changes;
    this.#kept.begin();
    this.#c.step('BEGIN IMMEDIATE');
    // Nobody else writes from here on.
    const { version } = this.#c;
    if (version !== this.#version) this.#kept.forget();
    this.#version = version;
  }

  #undo(step: string): void {
    this.#kept.forget();
    this.#c.step(step);
  }

  joined(): void {
    this.#nowMs = this.#now();
  }

  async command<T>(
    work: (tx: Transaction) => Soon<T>,
  ): Promise<{ value: T; notes: readonly Note[] }> {
    this.#notes = [];
    const before = this.#kept.written;
    if (this.#apart) this.#c.step('SAVEPOINT command');
    try {
      const value = await work(this.#transaction);
      if (this.#apart) {
        this.#kept.flush();
        this.#c.step('RELEASE command');
      }
      // It took no notice of a statement that failed so.
      else if (!this.#c.database.isTransaction) throw new Error('The transaction is gone');
      return { value, notes: this.#notes };
    } catch (error) {
      // A full or failing disk makes SQLite give up the whole transaction, not the statement alone.
      if (!this.#c.database.isTransaction) throw new GroupLost(error);
      if (this.#apart) {
        this.#undo('ROLLBACK TO command');
        this.#c.step('RELEASE command');
      } else if (this.#kept.written > before) throw new GroupSpoilt();
      // Else there is nothing to undo: a statement that fails undoes itself.
      throw error;
    }
  }

  commit(): boolean {
    // The disk failed while the group was open: what is refused all the same is not kept either.
    if (this.#files.loss !== undefined) throw this.#files.loss.error;
    this.#kept.flush();
    this.#c.step('COMMIT');
    this.#kept.settle();
    if (this.#kept.touched.keys) this.#keyChanges++;
    const changed = this.#c.changes > this.#changesBefore;
    // Whatever the check says, others see it from now on: whoever tells of it waits for this.
    if (changed) this.#log?.begin(this.#kept.touched);
    // What was written into removed files is not kept.
    this.#files.check();
    this.#checkpoints?.committed(this.durable);
    return changed;
  }

  /** Commits of this process that changed keys. */
  get keyChanges(): number {
    return this.#keyChanges;
  }

  get pause(): Promise<void> | undefined {
    return this.#checkpoints?.pause;
  }

  get durable(): Promise<void> | undefined {
    return this.#log?.pending?.durable;
  }

  rollback(): void {
    this.#kept.forget();
    if (this.#c.database.isTransaction) this.#c.step('ROLLBACK');
    this.#checkpoints?.look();
  }
}
