import type { Connection, Value, Values } from './connection.ts';

/**
 * Rows of a table as the writer knows them, by their ids: what the group of commands under way has read and saved, and of
 * earlier ones what lasts (`settle`). What is saved is held until `flush` writes each row once, with those columns alone that
 * change: SQLite removes and puts in again the entry of every index that a named column is part of, changed or not.
 * Nothing is known any more once anything was undone (`forget`).
 */
export class KeptRows<Row extends { readonly ref: number }> {
  readonly #c: Connection;
  readonly #table: string;
  readonly #names: readonly string[];
  /** Where they begin in a row. */
  readonly #first: number;
  #rows = new Map<string, Known<Row>>();
  /** Removed from it since it was made. */
  #removed = 0;
  /** Saved and not written. */
  #held = new Set<Known<Row>>();
  /** Read or written since the last commit. */
  #lately: Known<Row>[] = [];
  #saves = 0;
  /** Statements, by the columns that they set. */
  readonly #updates = new Map<number, string>();

  /** @param names of the columns that may change, in the order of the table. @param first where they begin in a row. */
  constructor(c: Connection, table: string, names: readonly string[], first: number) {
    this.#c = c;
    this.#table = table;
    this.#names = names;
    this.#first = first;
  }

  /** Since it was made, undone ones included. */
  get saves(): number {
    return this.#saves;
  }

  find(id: string): Row | undefined {
    return this.#rows.get(id)?.row;
  }

  /** A row was read that was not known: `found` holds all of its columns. */
  read(id: string, row: Row, found: Values): Row {
    this.insert(id, row, found.slice(this.#first, this.#first + this.#names.length) as Value[]);
    return row;
  }

  /** @param values of all columns that may change, as they are in the table. */
  insert(id: string, row: Row, values: readonly Value[]): void {
    this.#know({ id, row, values, stored: values });
  }

  /** @param values of all columns that may change. */
  save(id: string, row: Row, values: readonly Value[]): void {
    const known = this.#rows.get(id) ?? this.#load(id, row);
    known.row = row;
    this.#hold(known, values);
  }

  /** Sets one column alone. */
  saveOne(id: string, ref: number, name: string, value: Value): void {
    const index = this.#names.indexOf(name);
    const known = this.#rows.get(id);
    if (known) this.#hold(known, known.values.with(index, value));
    else this.#c.put(this.#update(1 << index), [value, ref]);
  }

  /** @param told of each row that is written, with its values before and after. */
  flush(told?: (row: Row, before: readonly Value[], after: readonly Value[]) => void): void {
    if (this.#held.size === 0) return;
    for (const known of this.#held) {
      const { row, values, stored } = known;
      if (this.#write(row.ref, stored, values)) told?.(row, stored, values);
      known.stored = values;
      this.#lately.push(known);
    }
    this.#held = new Set();
  }

  /** After a commit: rows that do not last are forgotten, and the oldest ones where there are too many. */
  settle(lasts: (row: Row) => boolean): void {
    for (const { id, row } of this.#lately) if (!lasts(row)) this.#remove(id);
    this.#lately = [];
    for (const id of this.#rows.keys()) {
      if (this.#rows.size <= ROWS_KEPT) break;
      this.#remove(id);
    }
    if (this.#removed > this.#rows.size) this.#renew(this.#rows);
  }

  forget(): void {
    this.#renew([]);
    this.#held = new Set();
    this.#lately = [];
  }

  #remove(id: string): void {
    if (this.#rows.delete(id)) this.#removed++;
  }

  /**
   * Another map, not the same one emptied: when a map of V8 is cleared or grows, its old table keeps a reference to the next
   * one. Once one of them is in the old space, all that ever comes into the map follows it there, and waits for a full
   * collection.
   */
  #renew(rows: Iterable<[string, Known<Row>]>): void {
    this.#rows = new Map(rows);
    this.#removed = 0;
  }

  #hold(known: Known<Row>, values: readonly Value[]): void {
    known.values = values;
    this.#held.add(known);
    this.#saves++;
  }

  /** Somebody saves what was read in another way. */
  #load(id: string, row: Row): Known<Row> {
    const sql = `SELECT ${this.#names.join(', ')} FROM ${this.#table} WHERE ref = ?`;
    const values = this.#c.values(sql, row.ref) as Value[];
    return this.#know({ id, row, values, stored: values });
  }

  #know(known: Known<Row>): Known<Row> {
    this.#rows.set(known.id, known);
    this.#lately.push(known);
    return known;
  }

  /** @returns whether anything changes. */
  #write(ref: number, before: readonly Value[], after: readonly Value[]): boolean {
    const changed: Value[] = [];
    let set = 0;
    // By index: `entries()` makes a pair for each column (a fifth of all that a drain allocated).
    for (let i = 0; i < after.length; i++) {
      const value = after[i] as Value;
      if (before[i] === value) continue;
      set |= 1 << i;
      changed.push(value);
    }
    if (set === 0) return false;
    changed.push(ref);
    if (!this.#updates.has(set) && this.#updates.size >= KINDS_KEPT)
      this.#c.put(this.#update(ALL), [...after, ref]);
    else this.#c.put(this.#update(set), changed);
    return true;
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

interface Known<Row> {
  readonly id: string;
  row: Row;
  /** Of the columns that may change, as saved. */
  values: readonly Value[];
  /** The same as they are in the table. */
  stored: readonly Value[];
}

/** A dozen kinds of change make nearly all; whatever is rarer than that sets all columns. */
const KINDS_KEPT = 100;
const ALL = -1;
/** Of running tasks; what is forgotten is read again. About 2 KiB each with its attempt. */
const ROWS_KEPT = 2_048;
