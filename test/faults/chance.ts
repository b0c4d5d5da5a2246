/**
 * Chance that can be had again: `FAULTS_SEED=… npm run test:faults` makes the same choices in the same order. What the
 * processes do meanwhile is up to the machine.
 */
import { randomInt } from 'node:crypto';

export interface Chance {
  readonly seed: number;
  /** At least 0, below `below`. */
  below(below: number): number;
  of<T>(choices: readonly T[]): T;
}

export function chance(): Chance {
  const seed = Number(process.env.FAULTS_SEED ?? randomInt(2 ** 31));
  let state = seed;
  // A step of mulberry32: 32 bits of state are plenty for some thousand choices.
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return { seed, below, of: (choices) => choices[below(choices.length)] as never };
}
