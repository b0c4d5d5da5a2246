import type { KeyRow, Store } from '../ports/store.ts';
import type { KeyWatch } from './key-watch.ts';

/**
 * Keys by their hashes. Calls that came in one turn of the event loop share one look, which reads in that turn however long
 * its answer takes: all of them are answered as of that moment. Nothing is remembered longer, so that a key that another
 * process revokes is none for the next call.
 */
export class KeyLooks {
  readonly #store: Pick<Store, 'keyByHash'>;
  readonly #watch: Pick<KeyWatch, 'revocations'>;
  readonly #looks = new Map<string, Look>();

  constructor(options: {
    readonly store: Pick<Store, 'keyByHash'>;
    readonly keyWatch: Pick<KeyWatch, 'revocations'>;
  }) {
    this.#store = options.store;
    this.#watch = options.keyWatch;
  }

  byHash(hash: string): Promise<KeyRow | undefined> {
    const seen = this.#watch.revocations;
    const shared = this.#looks.get(hash);
    if (shared?.seen === seen) return shared.row;
    const row = this.#look(hash);
    // Before it is answered: what is put in later would be as of an earlier turn.
    if (this.#looks.size === 0) setImmediate(() => this.#looks.clear());
    this.#looks.set(hash, { row, seen });
    return row;
  }

  async #look(hash: string): Promise<KeyRow | undefined> {
    const row = await this.#store.keyByHash(hash);
    // It may be made at any moment, and nobody tells of that.
    if (row === undefined) this.#looks.delete(hash);
    return row;
  }
}

interface Look {
  readonly row: Promise<KeyRow | undefined>;
  /** Revocations that had been heard of. */
  readonly seen: number;
}
