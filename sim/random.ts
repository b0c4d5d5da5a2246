import type { Random } from '../src/ports/random.ts';

/**
 * One seeded generator behind everything that is left to chance in a world, so that a seed repeats it.
 * The generator is sfc32 (small, fast, no short cycles in practice), seeded through a 32-bit mixer.
 */
export class SimulatedRandom implements Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number | string) {
    const next = mixer(typeof seed === 'number' ? seed : hash(seed));
    this.#a = next();
    this.#b = next();
    this.#c = next();
    for (let i = 0; i < 12; i++) this.#next();
  }

  bytes(n: number): Uint8Array {
    const bytes = new Uint8Array(n);
    for (let i = 0; i < n; i++) bytes[i] = this.#next() >>> 24;
    return bytes;
  }

  fraction(): number {
    return this.#next() / 2 ** 32;
  }

  /** `true` with this probability. */
  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** An integer in [0, n). */
  below(n: number): number {
    return Math.floor(this.fraction() * n);
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError('pick() of an empty list');
    return list[this.below(list.length)] as T;
  }

  /** A generator of its own for one part of the world: what it draws does not shift the others. */
  fork(name: string): SimulatedRandom {
    return new SimulatedRandom(`${this.#next()}:${name}`);
  }

  #next(): number {
    const sum = (this.#a + this.#b + this.#counter++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }
}

function mixer(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return mixed ^ (mixed >>> 15);
  };
}

function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value;
}
