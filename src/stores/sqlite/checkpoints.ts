import { Worker } from 'node:worker_threads';
import type { Connection } from './connection.ts';

/** Writes what the log holds into the database, as far as that can be done now. Never rejects. */
export interface Folding {
  /** What the first fold needs is made now, and nobody waits for it. */
  ready?(): void;
  fold(): Promise<void>;
  close(): Promise<void>;
}

/** Lengths of the log, in frames: a page of 4 KiB each. */
export interface LogLengths {
  /** From here on what folds it in is made ready. */
  readonly ready: number;
  /** From here on it is folded in while commits go on. */
  readonly start: number;
  /** Here commits wait for it; a group of commands may still come on top. */
  readonly most: number;
  /** From here on it is folded in when nobody has written for a while. */
  readonly idle: number;
}

/**
 * Keeps the log short while it is written: from a length on it is folded into the database, by a thread, so that the
 * event loop does not wait for that disk. SQLite begins the log anew once all of it is folded in, so at the end of it, and
 * whenever the log is too long, the writer pauses for what came in the meantime.
 */
export class Checkpoints {
  readonly #writer: Connection;
  readonly #folding: Folding;
  readonly #lengths: LogLengths;
  #running: Promise<void> | undefined;
  #pause: Promise<void> | undefined;
  #restIsLeft = false;
  #madeReady = false;
  #commits = 0;
  /** A reader in another process holds on to the log: not tried again before it has grown. */
  #startAt: number;

  constructor(writer: Connection, folding: Folding, lengths = LOG_LENGTHS) {
    this.#writer = writer;
    this.#folding = folding;
    this.#lengths = lengths;
    this.#startAt = lengths.start;
  }

  /** Nothing is to be written before. */
  get pause(): Promise<void> | undefined {
    return this.#pause;
  }

  /** After a commit. A look costs 15 µs, a tenth of a small commit, so not each of them is worth one. */
  committed(durable?: Promise<void>): void {
    if (++this.#commits % LOOK_EVERY === 0 || this.#restIsLeft) this.look(durable);
  }

  /**
   * No transaction is open: one has just ended. @param durable its log is being synced: folding, which syncs too, begins
   * behind that, and holds up nobody who waits for it.
   */
  look(durable?: Promise<void>): void {
    if (this.#pause) return;
    if (this.#restIsLeft) {
      this.#foldRest();
      return;
    }
    const { log } = this.#state();
    const { ready, start, most } = this.#lengths;
    if (!this.#madeReady && log >= ready) {
      this.#madeReady = true;
      this.#folding.ready?.();
    }
    if (log < start) this.#startAt = start;
    if (log < this.#startAt) return;
    const fold = () => this.#folding.fold();
    this.#running ??= (durable?.then(fold, fold) ?? fold()).then(() => this.#folded());
    if (log >= this.#startAt - start + most) this.#pause = this.#running;
  }

  /** Nobody has written for a while, and no transaction is open. @returns whether nothing is left to do. */
  rest(): boolean {
    const { log, checkpointed } = this.#state();
    if (log < this.#lengths.idle || log === checkpointed) return true;
    if (!this.#running) this.#foldRest();
    return false;
  }

  /** Nobody has written for long, and no transaction is open: whatever is left is folded in, once. */
  restWhole(): void {
    const { log, checkpointed } = this.#state();
    if (log !== checkpointed && !this.#running) this.#foldRest();
  }

  async close(): Promise<void> {
    while (this.#running) await this.#running;
    await this.#folding.close();
  }

  /** What was in the log when it began is in the database. */
  #folded(): void {
    this.#running = undefined;
    this.#pause = undefined;
    // Only before a transaction begins can SQLite see that nothing of the log is needed any more.
    if (this.#writer.database.isTransaction) this.#restIsLeft = true;
    else this.#foldRest();
  }

  /** While nobody writes. */
  #foldRest(): void {
    this.#restIsLeft = false;
    this.#running = this.#folding.fold().then(() => {
      const { log, checkpointed } = this.#state();
      this.#startAt = this.#lengths.start + (log === checkpointed ? 0 : log);
      this.#pause = undefined;
      this.#running = undefined;
    });
    this.#pause = this.#running;
  }

  /** Frames of the log, and how many of them are in the database too. */
  #state(): { readonly log: number; readonly checkpointed: number } {
    try {
      const [, log, checkpointed] = this.#writer.values('PRAGMA wal_checkpoint(NOOP)') ?? [];
      return { log: log as number, checkpointed: checkpointed as number };
    } catch {
      // A disk in trouble is told by what is written to it.
      return { log: 0, checkpointed: 0 };
    }
  }
}

/**
 * Each fold has the disk sync four times, and commits wait for the end of it: with 1,000 frames that met one of 40 lone tasks. A short
 * log is left alone in short rests: the first commit after a fold syncs the log's head on the event loop, and a start reads it in no time.
 * A thread's start is 40 ms of processor time: it falls among the first ten lone tasks, where all is cold, and not into the first fold, whose tasks
 * took three times as long.
 */
const LOG_LENGTHS: LogLengths = { ready: 250, start: 4_000, most: 6_000, idle: 1_000 };
/** The log may be longer by what the commits between two looks bring: a few hundred frames. */
const LOOK_EVERY = 4;

/** By a connection of the event loop's own. */
export function foldInside(c: Connection): Folding {
  return {
    async fold() {
      try {
        c.get('PRAGMA wal_checkpoint(PASSIVE)');
      } catch {
        // A full disk: it is met again.
      }
    },
    close: async () => {},
  };
}

/**
 * By a thread with a connection of its own, started when it is to be ready or needed first; where it cannot be, by `instead`: a process
 * that may have no more threads (`begin` throws) tries again the next time.
 */
export function foldBeside(file: string, instead: Folding, begin = beginThread): Folding {
  let thread: Worker | undefined;
  let gone = false;
  let heard = () => {};
  const start = () => {
    if (thread !== undefined) return;
    thread = begin(file);
    const ended = () => {
      gone = true;
      heard();
    };
    thread
      .on('message', () => heard())
      .on('error', ended)
      .on('exit', ended);
  };
  const ask = (what: 'fold' | 'close') =>
    new Promise<void>((resolve) => {
      heard = resolve;
      thread?.postMessage(what);
    });
  return {
    ready() {
      try {
        start();
      } catch {
        // It is asked for again by the first fold.
      }
    },
    async fold() {
      try {
        start();
      } catch {
        return instead.fold();
      }
      if (!gone) await ask('fold');
      if (gone) await instead.fold();
    },
    async close() {
      if (thread === undefined || gone) return;
      thread.ref();
      await ask('close');
    },
  };
}

export function beginThread(file: string): Worker {
  const thread = new Worker(THREAD, {
    eval: true,
    workerData: file,
    resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 },
  });
  // It keeps no process alive.
  thread.unref();
  return thread;
}

/** A script of its own, so that it works from source, from the bundle and from the executable. */
const THREAD = `
process.removeAllListeners('warning');
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const database = new DatabaseSync(workerData);
database.exec('PRAGMA busy_timeout = 0; PRAGMA synchronous = NORMAL');
const fold = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
parentPort.on('message', (what) => {
  if (what === 'close') {
    database.close();
    parentPort.close();
    return;
  }
  try {
    fold.get();
  } catch {
    // A full disk: it is met again.
  }
  parentPort.postMessage('done');
});
`;
