import { isLocalKey, keyState } from '../core/key-rules.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { KeyRow, Note, Store } from '../ports/store.ts';

/**
 * Tells whoever goes on with a key (a stream, a long poll, a body that is still coming) at once when the key ends: by
 * the note of its revocation, by a timer when it expires. Revocations by other processes are found by `KeyLoop`.
 */
export class KeyWatch {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #watchers = new Map<string, Set<() => void>>();
  #revocations = 0;

  constructor(options: { readonly store: Store; readonly clock: Clock }) {
    this.#store = options.store;
    this.#clock = options.clock;
  }

  /** Goes up with each revocation that is heard of: while it stays, what was read of a key before still holds. */
  get revocations(): number {
    return this.#revocations;
  }

  /**
   * Calls `onEnd` once, when the key is no key any more.
   * @param seen `revocations` when the key was read. @returns the end of the watch; twice is fine.
   */
  watch(key: KeyRow, seen: number, onEnd: () => void): () => void {
    const watchers = this.#watchers.get(key.id) ?? new Set();
    this.#watchers.set(key.id, watchers);
    let timer: Timer | undefined;
    let over = false;
    const end = () => {
      if (over) return;
      over = true;
      timer?.cancel();
      watchers.delete(told);
      if (watchers.size === 0 && this.#watchers.get(key.id) === watchers)
        this.#watchers.delete(key.id);
    };
    const told = () => {
      if (over) return;
      end();
      onEnd();
    };
    watchers.add(told);
    const { expiresAtMs } = key;
    const arm = async () => {
      if (expiresAtMs === undefined) return;
      const left = expiresAtMs - (await this.#store.nowMs());
      if (left <= 0) told();
      else if (!over) timer = this.#clock.timer(left, () => void arm().catch(told));
    };
    void arm().catch(told);
    // It was revoked between being read and being watched.
    if (seen !== this.#revocations) void this.#look(key.id).catch(told);
    return end;
  }

  take(notes: readonly Note[]): void {
    for (const note of notes) if (note.kind === 'key') this.ended(note.keyId);
  }

  ended(keyId: string): void {
    this.#revocations++;
    for (const told of [...(this.#watchers.get(keyId) ?? [])]) told();
  }

  /** Somebody else has revoked keys: looks at those that are watched. @returns the ones that had ended. */
  async lookAtAll(): Promise<KeyRow[]> {
    this.#revocations++;
    const rows: KeyRow[] = [];
    for (const id of [...this.#watchers.keys()]) rows.push(...(await this.#look(id)));
    return rows;
  }

  async #look(id: string): Promise<KeyRow[]> {
    if (isLocalKey(id)) return [];
    const row = await this.#store.keyById(id);
    if (row && keyState(await this.#store.nowMs(), row) === 'usable') return [];
    for (const told of [...(this.#watchers.get(id) ?? [])]) told();
    return row ? [row] : [];
  }
}
