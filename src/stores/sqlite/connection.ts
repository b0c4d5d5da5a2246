import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';

export type Value = SQLInputValue;
export type Row = Record<string, unknown>;

/** One SQLite connection whose statements are compiled once. Statements are constants in the code. */
export class Connection {
  readonly database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(file: string, options: { readonly readOnly?: boolean } = {}) {
    this.database = new DatabaseSync(file, { readOnly: options.readOnly ?? false });
  }

  get(sql: string, ...values: Value[]): Row | undefined {
    return this.#prepared(sql).get(...values);
  }

  all(sql: string, ...values: Value[]): Row[] {
    return this.#prepared(sql).all(...values);
  }

  /** @returns how many rows were changed, and the rowid of the last that was inserted. */
  run(sql: string, ...values: Value[]): { changes: number; ref: number } {
    const done = this.#prepared(sql).run(...values);
    return { changes: Number(done.changes), ref: Number(done.lastInsertRowid) };
  }

  /** Rows changed since it was opened, undone ones included. */
  get changes(): number {
    return this.get('SELECT total_changes() AS n')?.n as number;
  }

  /** Runs a script of several statements. */
  script(sql: string): void {
    this.database.exec(sql);
  }

  close(): void {
    this.#statements.clear();
    if (this.database.isOpen) this.database.close();
  }

  #prepared(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
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
