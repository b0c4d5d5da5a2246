import type { KeyRow, Reads } from '../../ports/store.ts';

/**
 * Keys by their hashes, remembered as long as nobody has committed a change of keys: each call asks for one, and a connection that
 * reads for the first time after a commit begins with an empty cache (50 µs). What another process has committed is met
 * by the next call.
 */
export class KnownKeys {
  readonly #read: Reads['keyByHash'];
  readonly #version: () => string;
  readonly #keys = new Map<string, KeyRow>();
  #seen = '';

  /** @param version another text once any process has committed a change of keys. */
  constructor(read: Reads['keyByHash'], version: () => string) {
    this.#read = read;
    this.#version = version;
  }

  async byHash(hash: string): Promise<KeyRow | undefined> {
    // Asked before it is read: what is committed in between is read twice.
    const version = this.#version();
    if (version !== this.#seen) this.#keys.clear();
    this.#seen = version;
    const known = this.#keys.get(hash);
    if (known) return known;
    const row = await this.#read(hash);
    // Those who guess leave nothing here.
    if (row && this.#seen === version) {
      if (this.#keys.size >= KEYS_KEPT) this.#keys.clear();
      this.#keys.set(hash, row);
    }
    return row;
  }
}

/** More than speak at the same time. */
const KEYS_KEPT = 1_000;
