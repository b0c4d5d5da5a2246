/**
 * A `Map` that lives long and that things pass through, in the order in which they came. Every now and then another map takes
 * the place of the one inside: V8 makes the table of a map anew when enough of it was removed, each old table points to the
 * next, and one that a full collection has moved among the old objects so keeps all that ever comes into the map until the
 * next full one. That is done when nothing else runs: a loop over it sees what is added and removed meanwhile, as with any
 * map, if it waits for nothing.
 */
export class PassingMap<K, V> {
  #map = new Map<K, V>();
  /** Removed from the one inside. */
  #removed = 0;
  #renewing = false;

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  set(key: K, value: V): void {
    this.#map.set(key, value);
  }

  delete(key: K): boolean {
    const was = this.#map.delete(key);
    if (was && ++this.#removed >= RENEW_AFTER && this.#removed > this.#map.size) this.#renewSoon();
    return was;
  }

  clear(): void {
    this.#map.clear();
  }

  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.#map[Symbol.iterator]();
  }

  keys(): IterableIterator<K> {
    return this.#map.keys();
  }

  values(): IterableIterator<V> {
    return this.#map.values();
  }

  #renewSoon(): void {
    if (this.#renewing) return;
    this.#renewing = true;
    queueMicrotask(() => {
      this.#renewing = false;
      this.#removed = 0;
      this.#map = new Map(this.#map);
    });
  }
}

/** A map of a few is not made anew at each step. */
const RENEW_AFTER = 64;
