import type { KeyRow, Store } from '../ports/store.ts';
import type { KeyWatch } from './key-watch.ts';

/**
 * Keys by their hashes. Calls that came in one turn of the event loop share one look: all of them are answered as of that
 * moment. Nothing is remembered longer, so that a key that another process revokes is none for the next call.
 */
export class KeyLooks {
  readonly #store: Store;
  readonly #watch: KeyWatch;
  readonly #rows = new Map<string, { readonly row: KeyRow; readonly seen: number }>();

  constructor(options: { readonly store: Store; readonly keyWatch: KeyWatch }) {
    this.#store = options.store;
    this.#watch = options.keyWatch;
  }

  async byHash(hash: string): Promise<KeyRow | undefined> {
    const seen = this.#watch.revocations;
    const kept = this.#rows.get(hash);
    if (kept?.seen === seen) return kept.row;
    const row = await this.#store.keyByHash(hash);
    if (row === undefined) return undefined;
    if (this.#rows.size === 0) setImmediate(() => this.#rows.clear());
    this.#rows.set(hash, { row, seen });
    return row;
  }
}
