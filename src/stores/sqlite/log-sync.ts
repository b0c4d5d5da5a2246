import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs';

/** Makes durable what was written to an open file. @returns `undefined` where it is already. */
export type SyncFile = (fd: number) => Promise<void> | undefined;

/** What a group of commands has written to, as far as readers can be told apart by it. */
export class Touched {
  /** Refs of tasks; ids of those whose attempts alone were written. */
  readonly tasks = new Set<number | string>();
  keys = false;
  /** Something else. */
  others = false;
}

/** A sync under way, and what was committed before it began. */
export interface Pending {
  readonly touched: Touched;
  readonly durable: Promise<void>;
}

/**
 * Makes the write-ahead log durable beside the event loop: SQLite itself writes a commit into the log and does not
 * wait for the disk (`synchronous=NORMAL`). One `fdatasync` covers all that was committed before it began.
 * The log may be opened and closed here: SQLite's locks are on the other two files.
 */
export class LogSync {
  readonly #fd: number;
  readonly #sync: SyncFile;
  readonly #failed: (cause: Error) => Error;
  #pending: Pending | undefined;

  /**
   * What others have written into the log is read from now on, so it is made durable first. What an earlier process left
   * there needs more than a sync (`keepLeftLog`).
   *
   * @param log a file that is there.
   * @param failed is told of a disk that could not keep it. @returns what those get who wait for it.
   */
  constructor(log: string, failed: (cause: Error) => Error, sync: SyncFile = inThreadPool) {
    this.#failed = failed;
    this.#sync = sync;
    // Windows syncs only what is open for writing.
    this.#fd = openSync(log, 'r+');
    try {
      fdatasyncSync(this.#fd);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** What is committed and not known to be durable: who has seen some of it waits before he tells. */
  get pending(): Pending | undefined {
    return this.#pending;
  }

  /** After a commit, while nothing is pending. */
  begin(touched: Touched): void {
    const done = this.#sync(this.#fd);
    if (done === undefined) return;
    const over = () => {
      this.#pending = undefined;
    };
    const durable = done.then(over, (cause: Error) => {
      over();
      throw this.#failed(cause);
    });
    // Those who wait hear of it; perhaps nobody does.
    durable.catch(() => {});
    this.#pending = { touched, durable };
  }

  /** Whoever has written into it. */
  async syncNow(): Promise<void> {
    await this.#sync(this.#fd);
  }

  /** When nothing is pending any more. */
  close(): void {
    closeSync(this.#fd);
  }
}

function inThreadPool(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(fd, (error) => (error ? reject(error) : resolve()));
  });
}
