import { pageDefaults } from '../core/page-defaults.ts';
import { type Bucket, isFull, takeToken } from '../core/rate-limit.ts';

/** How often wrong keys are heard from one address. Nobody guesses 256 bits; this keeps the log readable and floods cheap. */
export class WrongKeys {
  readonly #buckets = new Map<string, Bucket>();

  /** Counts a wrong key. @returns how long to wait, where there were too many wrong ones. */
  count(address: string, nowMs: number): number | undefined {
    const name = this.#room(address, nowMs);
    const taken = takeToken(nowMs, this.#buckets.get(name), pageDefaults.wrongKeysPerMinute);
    this.#buckets.set(name, taken.bucket);
    return taken.ok ? undefined : taken.retryAfterMs;
  }

  #room(address: string, nowMs: number): string {
    if (this.#buckets.has(address) || this.#buckets.size < pageDefaults.addressesKept)
      return address;
    for (const [name, bucket] of this.#buckets)
      if (isFull(nowMs, bucket, pageDefaults.wrongKeysPerMinute)) this.#buckets.delete(name);
    return this.#buckets.size < pageDefaults.addressesKept ? address : 'others';
  }
}
