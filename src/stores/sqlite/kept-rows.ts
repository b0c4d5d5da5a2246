import type { Connection, Value } from './connection.ts';

/**
 * What the columns of a table's rows hold that may change, as far as the command under way has read or written them: an
 * update names only those that change. SQLite removes and puts in again the entry of every index that a named
 * column is part of, changed or not. Forgotten with each command, so nothing has to be known of undone ones.
 */
export class KeptRows {
  readonly #c: Connection;
  readonly #table: string;
  readonly #names: readonly string[];
  readonly #rows = new Map<number, Value[]>();
  /** Statements, by the columns that they set. */
  readonly #updates = new Map<number, string>();

  constructor(c: Connection, table: string, names: readonly string[]) {
    this.#c = c;
    this.#table = table;
    this.#names = names;
  }

  /** A row was read: `row` holds all of its columns, those that may change at the end. */
  read(ref: number, row: readonly unknown[]): void {
    this.#rows.set(ref, row.slice(row.length - this.#names.length) as Value[]);
  }

  forget(): void {
    if (this.#rows.size > 0) this.#rows.clear();
  }

  /** @param values of all columns that may change. */
  save(ref: number, values: readonly Value[]): void {
    const before = this.#rows.get(ref);
    let set = 0;
    for (let i = 0; i < values.length; i++)
      if (before === undefined || before[i] !== values[i]) set |= 1 << i;
    if (set === 0) return;
    if (!this.#updates.has(set) && this.#updates.size >= KINDS_KEPT) set = ALL;
    const sql = this.#update(set);
    this.#c.run(sql, ...values.filter((_, i) => set & (1 << i)), ref);
    this.#rows.set(ref, [...values]);
  }

  /** Sets one column alone. */
  saveOne(ref: number, name: string, value: Value): void {
    const index = this.#names.indexOf(name);
    const before = this.#rows.get(ref);
    if (before !== undefined && before[index] === value) return;
    this.#c.run(this.#update(1 << index), value, ref);
    if (before !== undefined) before[index] = value;
  }

  #update(set: number): string {
    let sql = this.#updates.get(set);
    if (sql === undefined) {
      const names = this.#names.filter((_, i) => set & (1 << i));
      sql = `UPDATE ${this.#table} SET ${names.map((name) => `${name} = ?`).join(', ')} WHERE ref = ?`;
      this.#updates.set(set, sql);
    }
    return sql;
  }
}

/** A dozen kinds of change make nearly all; whatever is rarer than that sets all columns. */
const KINDS_KEPT = 100;
const ALL = -1;
