import { randomBytes, randomFillSync } from 'node:crypto';
import type { Random } from '../ports/random.ts';

/** The system's chance: bytes fit for ids and secrets, fractions for jitter. */
export function systemRandom(): Random {
  const pool = new Uint8Array(POOL_BYTES);
  let used = POOL_BYTES;
  return {
    bytes: (n) => {
      if (n > POOLED_MAX) return new Uint8Array(randomBytes(n));
      if (used + n > POOL_BYTES) {
        randomFillSync(pool);
        used = 0;
      }
      const bytes = pool.slice(used, used + n);
      // Nothing is given twice, nor kept.
      pool.fill(0, used, used + n);
      used += n;
      return bytes;
    },
    fraction: () => Math.random(),
  };
}

/** A call for a few bytes costs as much as one for hundreds: ids share one. */
const POOL_BYTES = 4_096;
/** Ids and their like; secrets are longer and never lie in the pool. */
const POOLED_MAX = 16;
