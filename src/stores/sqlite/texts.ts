import type { Connection } from './connection.ts';

/**
 * Texts that many rows have in common (the policy of a producer's tasks, what the journal says of each claim of a worker)
 * stand once in a table, and rows hold `#` and their ref. A text comes into it when a second row brings it within a while,
 * so that what only one row has stays with that row. None is ever changed or removed.
 */
export class Texts {
  readonly #c: Connection;
  /** What rows hold, by text, and the other way round. */
  readonly #held = new Map<string, string>();
  readonly #texts = new Map<string, string>();
  /** Brought by one row, of late. */
  readonly #once = new Set<string>();
  /** Put into the table since the last commit. */
  #fresh: string[] = [];

  constructor(c: Connection) {
    this.#c = c;
  }

  /** What a new row holds for `text`. Within a transaction. */
  hold(text: string): string {
    const known = this.#held.get(text);
    if (known !== undefined) return known;
    if (text.length < SHORTEST || text.length > LONGEST) return inPlace(text);
    if (!this.#once.has(text)) {
      if (this.#once.size >= REMEMBERED) this.#once.clear();
      this.#once.add(text);
      return inPlace(text);
    }
    const ref = this.#c.get(FIND, text)?.ref ?? this.#c.run(ADD, text).ref;
    this.#fresh.push(text);
    return this.#know(text, `#${ref}`);
  }

  /** What a row holds for `text` that held it before. */
  held(text: string): string {
    return this.#held.get(text) ?? inPlace(text);
  }

  /** The text that a row holds. */
  text(held: string): string {
    if (!held.startsWith('#')) return held;
    const known = this.#texts.get(held);
    if (known !== undefined) return known;
    if (held.startsWith('##')) return held.slice(1);
    const text = this.#c.get(READ, Number(held.slice(1)))?.text as string;
    this.#know(text, held);
    return text;
  }

  /** The transaction is committed. */
  settle(): void {
    if (this.#fresh.length > 0) this.#fresh = [];
  }

  /** Something of the transaction was undone. */
  forget(): void {
    for (const text of this.#fresh) {
      this.#texts.delete(this.#held.get(text) ?? '');
      this.#held.delete(text);
    }
    this.#fresh = [];
  }

  #know(text: string, held: string): string {
    if (this.#held.size >= REMEMBERED) {
      this.#held.clear();
      this.#texts.clear();
    }
    this.#held.set(text, held);
    this.#texts.set(held, text);
    return held;
  }
}

const inPlace = (text: string) => (text.startsWith('#') ? `#${text}` : text);

const FIND = 'SELECT ref FROM texts WHERE text = ?';
const ADD = 'INSERT INTO texts (text) VALUES (?)';
const READ = 'SELECT text FROM texts WHERE ref = ?';
/** A ref is hardly shorter. */
const SHORTEST = 8;
/** Longer ones are of one task: an error, a stack. */
const LONGEST = 1_000;
/** A few for each worker and producer that is busy at the same time. */
const REMEMBERED = 2_000;
