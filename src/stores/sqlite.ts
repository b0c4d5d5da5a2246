import { statSync } from 'node:fs';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { Note, Reads, Soon, Store, StoreStats, Transaction } from '../ports/store.ts';
import { CommandQueue } from './command-queue.ts';
import { damaged } from './data-check.ts';
import { Checkpoints, foldBeside, foldInside } from './sqlite/checkpoints.ts';
import { Connection } from './sqlite/connection.ts';
import { durableReads } from './sqlite/durable-reads.ts';
import { SqliteGroup, sqliteReads } from './sqlite/group.ts';
import { KeptFiles, type StoreLoss } from './sqlite/kept-files.ts';
import { KnownKeys } from './sqlite/known-keys.ts';
import { keepLeftLog, leftLog } from './sqlite/left-log.ts';
import { LogSync, type SyncFile } from './sqlite/log-sync.ts';
import { migrate, type Upgrade } from './sqlite/migrate.ts';
import { RestFolds } from './sqlite/rest-folds.ts';
import { steadyNow } from './steady-now.ts';

export interface SqliteOptions {
  /** Path of the database file; made if it is not there. */
  readonly file: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Default: yes. `false` where another process uses the file: an older version is then refused. */
  readonly migrates?: boolean;
  /** An older program's database was brought to this version, which that program does not open any more. */
  readonly onUpgrade?: (upgrade: Upgrade) => void;
  /** The files were taken away while they were open: told once; from then on everything is refused as `UNAVAILABLE`. */
  readonly onLoss?: (loss: StoreLoss) => void;
  /** Default: `fdatasync` in the thread pool. */
  readonly sync?: SyncFile;
}

/**
 * SQLite with one writer and one reading connection: a write-ahead log whose every commit is on the disk before it is
 * answered, shared by all commands that waited for it. The owner of the file syncs the log itself, beside the event loop
 * (`LogSync`, under `synchronous=NORMAL`); another process that uses it leaves that to SQLite (`synchronous=FULL`).
 *
 * @throws TaskError `STORE_TOO_NEW` where a newer program has written the file, `STORE_TOO_OLD` where an older one uses it,
 *   `DATA_UNUSABLE` where it is damaged or another program keeps its owner from writing.
 */
export function openSqliteStore(options: SqliteOptions): Store {
  const owns = options.migrates ?? true;
  const left = owns && leftLog(options.file);
  const writer = new Connection(options.file);
  try {
    writer.script(`
      PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS};
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${owns ? 'NORMAL' : 'FULL'};
      PRAGMA foreign_keys = ON;
      PRAGMA temp_store = MEMORY;
      PRAGMA wal_autocheckpoint = ${owns ? 0 : VISITOR_CHECKPOINT_PAGES};
      PRAGMA journal_size_limit = ${WAL_KEPT_BYTES};
      PRAGMA cache_size = -${WRITER_CACHE_KIB};`);
    if (owns) checkWhole(writer, options.file);
    const upgrade = migrate(writer, options.file, owns);
    if (upgrade && upgrade.from > 0) options.onUpgrade?.(upgrade);
    writer.run(
      'INSERT OR IGNORE INTO meta (name, value) VALUES (?, ?)',
      'epoch',
      Buffer.from(options.random.bytes(16)).toString('base64url'),
    );
    if (left) keepLeftLog(writer, options.file);
    const reader = new Connection(options.file, { readOnly: true });
    reader.script(
      `PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA cache_size = -${READER_CACHE_KIB};`,
    );
    const files = new KeptFiles(options.file, writer, () => options.clock.now(), options.onLoss);
    const log = new LogSync(`${options.file}-wal`, (cause) => files.failed(cause), options.sync);
    const inside = foldInside(writer);
    const folding = options.sync ? inside : foldBeside(options.file, inside);
    // A second process comes with a few commands, and leaves the rest to SQLite.
    const checkpoints = owns ? new Checkpoints(writer, folding) : undefined;
    const changed = upgrade !== undefined;
    const parts = { writer, reader, clock: options.clock, files, log, owns, checkpoints, changed };
    const store = new SqliteStore(parts);
    const reads = durableReads(store.readsOf(reader), files, log, owns);
    return Object.assign(store, reads);
  } catch (error) {
    writer.close();
    throw error;
  }
}

/** Reads a small database through (a large one takes too long at a start: its length alone was looked at). */
function checkWhole(c: Connection, file: string): void {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > CHECKED_BYTES) return;
  let found: unknown;
  try {
    found = c.get('PRAGMA quick_check(1)')?.quick_check;
  } catch (error) {
    found = error instanceof Error ? error.message : error;
  }
  if (found !== 'ok') throw damaged(file, `is damaged (${String(found).trim()})`);
}

/** Some tenths of a second on an ordinary disk. */
const CHECKED_BYTES = 67_108_864;
/** A second process (`keys new`) holds the lock for milliseconds; a slow disk for longer. */
const BUSY_TIMEOUT_MS = 5_000;
/**
 * 4 KiB each. Where SQLite folds the log in itself, inside a commit: in the owner never (`Checkpoints` does, beside the event loop), also not
 * once a reader of another process has let go of a log that it has held for long.
 */
const VISITOR_CHECKPOINT_PAGES = 1_000;
/**
 * What a burst left of the log is cut to this when it begins anew: to write over is cheaper than to grow, since a sync of a file that
 * grew writes its length and place too.
 */
const WAL_KEPT_BYTES = 20_971_520;
/** Lists that people page through. */
const READER_CACHE_KIB = 16_384;
/**
 * What commands need lies close together. Whenever a page was split, a commit of SQLite looks through the whole cache for
 * pages behind the end of the file (3.5 % of the processor time of a short load with 16 MiB, 1.2 % with these).
 */
const WRITER_CACHE_KIB = 4_096;

interface Parts {
  readonly writer: Connection;
  readonly reader: Connection;
  readonly clock: Clock;
  readonly files: KeptFiles;
  readonly log: LogSync;
  readonly owns: boolean;
  readonly checkpoints: Checkpoints | undefined;
  /** Tables were made or changed at this start. */
  readonly changed: boolean;
}

class SqliteStore implements Omit<Store, keyof Reads> {
  readonly epoch: string;
  readonly #writer: Connection;
  readonly #reader: Connection;
  readonly #now: () => number;
  readonly #group: SqliteGroup;
  readonly #queue: CommandQueue<Transaction>;
  readonly #files: KeptFiles;
  readonly #log: LogSync;
  readonly #checkpoints: Checkpoints | undefined;
  readonly #rests: RestFolds | undefined;
  #closing: Promise<void> | undefined;

  constructor({ writer, reader, clock, files, log, owns, checkpoints, changed }: Parts) {
    this.#log = log;
    this.#checkpoints = checkpoints;
    this.#writer = writer;
    this.#reader = reader;
    this.#files = files;
    this.#now = steadyNow(clock);
    this.epoch = reader.get("SELECT value FROM meta WHERE name = 'epoch'")?.value as string;
    const own = owns ? log : undefined;
    this.#group = new SqliteGroup(writer, this.#now, files, own, checkpoints);
    this.#queue = new CommandQueue(this.#group);
    this.#rests =
      checkpoints &&
      new RestFolds(clock, checkpoints, () => ({
        commits: this.stats.commits,
        open: writer.database.isTransaction,
        over: this.#closing !== undefined || this.lost !== undefined,
        changed,
      }));
  }

  /** What the reading connection finds, or is known to find. */
  readsOf(reader: Connection): Reads {
    const reads = sqliteReads(reader);
    const keys = new KnownKeys(
      reads.keyByHash,
      () => `${this.#writer.version} ${this.#group.keyChanges}`,
    );
    return { ...reads, keyByHash: (hash) => keys.byHash(hash) };
  }

  get stats(): StoreStats {
    return this.#queue.stats;
  }

  get lost(): 'files' | 'disk' | undefined {
    return this.#files.loss?.by;
  }

  async nowMs(): Promise<number> {
    this.#files.checkSometimes();
    return this.#now();
  }

  write<T, Made = T>(
    work: (tx: Transaction) => Soon<T>,
    items?: number,
    made?: (value: T) => Made,
  ): Promise<Made> {
    this.#rests?.written();
    return this.#queue.run(work, items, made);
  }

  subscribe(
    listener: (notes: readonly Note[]) => void,
    early?: (notes: readonly Note[]) => void,
    within?: (notes: readonly Note[]) => void,
  ): () => void {
    return this.#queue.subscribe(listener, early, within);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#queue.close();
    this.#rests?.cancel();
    await this.#checkpoints?.close();
    // A read may still wait for it.
    await this.#log.pending?.durable.catch(() => {});
    this.#log.close();
    // The last connection to close folds the log in and removes it.
    this.#reader.close();
    this.#writer.close();
  }
}
