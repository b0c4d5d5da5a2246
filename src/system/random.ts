import { randomBytes } from 'node:crypto';
import type { Random } from '../ports/random.ts';

/** The system's chance: bytes fit for ids and secrets, fractions for jitter. */
export function systemRandom(): Random {
  return {
    bytes: (n) => new Uint8Array(randomBytes(n)),
    fraction: () => Math.random(),
  };
}
