import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { Texts } from './texts.ts';

export type Value = SQLInputValue;
export type Row = Record<string, unknown>;
export type Values = readonly unknown[];

/** One SQLite connection whose statements are compiled once. Statements are constants in the code. */
export class Connection {
  readonly database: DatabaseSync;
  readonly texts = new Texts(this);
  readonly #statements = new Map<string, StatementSync>();
  /** Those whose rows come as lists of values. */
  readonly #lists = new Map<string, StatementSync>();
  #changes = 0;

  constructor(file: string, options: { readonly readOnly?: boolean } = {}) {
    this.database = new DatabaseSync(file, { readOnly: options.readOnly ?? false });
  }

  get(sql: string, ...values: Value[]): Row | undefined {
    return this.#prepared(sql).get(...values);
  }

  all(sql: string, ...values: Value[]): Row[] {
    return this.#prepared(sql).all(...values);
  }

  /** As `get`, a row as its values in the order of its columns: half the price of an object with forty names. */
  values(sql: string, ...values: Value[]): Values | undefined {
    return this.#prepared(sql, this.#lists).get(...values) as Values | undefined;
  }

  allValues(sql: string, ...values: Value[]): Values[] {
    return this.#prepared(sql, this.#lists).all(...values) as unknown as Values[];
  }

  /** Of a statement that removes rows: those. */
  removed(sql: string, ...values: Value[]): Row[] {
    const rows = this.all(sql, ...values);
    this.#changes += rows.length;
    return rows;
  }

  /** @returns how many rows were changed, and the rowid of the last that was inserted. */
  run(sql: string, ...values: Value[]): { changes: number; ref: number } {
    const done = this.#prepared(sql).run(...values);
    const changes = Number(done.changes);
    this.#changes += changes;
    return { changes, ref: Number(done.lastInsertRowid) };
  }

  /**
   * Puts one row in or changes one, of which nothing has to be told: asked for a row (there is none) the driver makes no object
   * of what has changed. An update whose row is not there counts as a change too.
   */
  put(sql: string, values: readonly Value[]): void {
    this.#prepared(sql).get(...values);
    this.#changes++;
  }

  /** Begins, ends or undoes: changes no row by itself. */
  step(sql: string): void {
    this.#prepared(sql).run();
  }

  /** Rows that were changed since it was opened, undone ones included. */
  get changes(): number {
    return this.#changes;
  }

  /** Another number once another connection, of whatever process, has committed. Own commits leave it as it is. */
  get version(): number {
    return this.values('PRAGMA data_version')?.[0] as number;
  }

  /** Runs a script of several statements. */
  script(sql: string): void {
    this.database.exec(sql);
  }

  close(): void {
    this.#statements.clear();
    this.#lists.clear();
    if (this.database.isOpen) this.database.close();
  }

  #prepared(sql: string, kept = this.#statements): StatementSync {
    let statement = kept.get(sql);
    if (statement === undefined) {
      statement = this.database.prepare(compiledOnce(sql));
      if (kept === this.#lists) statement.setReturnArrays(true);
      kept.set(sql, statement);
    }
    return statement;
  }
}

/**
 * SQLite looks at what stands for a bare `?` when it chooses among partial indexes and for `LIMIT ?`, and compiles the
 * statement anew, silently, whenever that is bound again: 10 to 90 µs each time. An expression around it is not looked at.
 */
function compiledOnce(sql: string): string {
  return sql.replace(/(\bLIMIT )?\?/g, (_, limit) => (limit ? 'LIMIT ? + 0' : '+?'));
}

/** What a column holds, as the mapping of rows reads it: `NULL` is `undefined`. */
export const text = (value: unknown): string | undefined =>
  value === null ? undefined : (value as string | undefined);
export const number = (value: unknown): number | undefined =>
  value === null ? undefined : (value as number | undefined);
export const json = <T>(value: unknown): T | undefined =>
  value === null || value === undefined ? undefined : (JSON.parse(value as string) as T);
/** The other way round. */
export const jsonOrNull = (value: unknown): string | null =>
  value === undefined ? null : JSON.stringify(value);
