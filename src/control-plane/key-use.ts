import { keyDefaults } from '../core/defaults.ts';
import { type Bucket, isFull, takeToken } from '../core/rate-limit.ts';
import type { Clock } from '../ports/clock.ts';
import type { KeyRow, Store } from '../ports/store.ts';

/** What keys have been used for: when last, and how often of late. In memory; `KeyLoop` writes down the first. */
export class KeyUse {
  readonly #clock: Clock;
  readonly #store: Store;
  /** Since the last write. */
  readonly #usedAtMs = new Map<string, number>();
  readonly #buckets = new Map<string, { bucket: Bucket; readonly perMinute: number }>();

  constructor(options: { readonly store: Store; readonly clock: Clock }) {
    this.#store = options.store;
    this.#clock = options.clock;
  }

  used(key: KeyRow, nowMs: number): void {
    if (this.#usedAtMs.size < keyDefaults.usedKept || this.#usedAtMs.has(key.id))
      this.#usedAtMs.set(key.id, nowMs);
  }

  lastUsedAtMs(key: KeyRow): number | undefined {
    const latest = this.#usedAtMs.get(key.id);
    return latest === undefined ? key.lastUsedAtMs : Math.max(latest, key.lastUsedAtMs ?? latest);
  }

  /** Counts a call. @returns how long to wait where the key has used up what it may. */
  count(key: KeyRow): number | undefined {
    const perMinute = key.limits?.requestsPerMinute;
    if (perMinute === undefined) return undefined;
    const taken = takeToken(this.#clock.now(), this.#buckets.get(key.id)?.bucket, perMinute);
    this.#buckets.set(key.id, { bucket: taken.bucket, perMinute });
    return taken.ok ? undefined : taken.retryAfterMs;
  }

  /** Writes down when keys were used last. What cannot be written is kept for the next time. */
  async keep(): Promise<void> {
    const used = new Map(this.#usedAtMs);
    if (used.size === 0) return;
    await this.#store.write((tx) => tx.stampKeys(used));
    for (const [id, at] of used) if (this.#usedAtMs.get(id) === at) this.#usedAtMs.delete(id);
  }

  /** Full buckets are the same as none. */
  forget(): void {
    const now = this.#clock.now();
    for (const [id, { bucket, perMinute }] of this.#buckets)
      if (isFull(now, bucket, perMinute)) this.#buckets.delete(id);
  }
}
