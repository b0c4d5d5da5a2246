/**
 * Ids that were here once, at least the last `atLeast` of them and at most twice as many. In two halves, the older of which
 * goes as a whole: taking the oldest one out of a large set walks over all the places that were emptied before it.
 */
export class Seen {
  readonly #atLeast: number;
  #newer = new Set<string>();
  #older: ReadonlySet<string> = new Set();

  constructor(atLeast: number) {
    this.#atLeast = atLeast;
  }

  has(id: string): boolean {
    return this.#newer.has(id) || this.#older.has(id);
  }

  add(id: string): void {
    if (this.#newer.size >= this.#atLeast) {
      this.#older = this.#newer;
      this.#newer = new Set();
    }
    this.#newer.add(id);
  }
}
