/**
 * SHA-256 in plain JavaScript, for the few kilobytes of a handler that each host checks: `node:crypto` takes four megabytes and
 * several milliseconds of a process that needs it for nothing else.
 */

/** @returns in hex. */
export function sha256(text: string): string {
  const bytes = Buffer.from(text);
  // The text, a one, zeros, and its length in bits: a multiple of 64 bytes.
  const padded = Buffer.alloc(((bytes.length + 8) >> 6) * 64 + 64);
  bytes.copy(padded);
  padded[bytes.length] = 0x80;
  padded.writeBigUInt64BE(BigInt(bytes.length) * 8n, padded.length - 8);
  const state = Int32Array.from(STARTS);
  const words = new Int32Array(64);
  for (let at = 0; at < padded.length; at += 64) addBlock(state, words, padded, at);
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

function addBlock(state: Int32Array, words: Int32Array, bytes: Buffer, at: number): void {
  for (let i = 0; i < 16; i++) words[i] = bytes.readInt32BE(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const [x, y] = [words[i - 15] as number, words[i - 2] as number];
    const small = turned(x, 7) ^ turned(x, 18) ^ (x >>> 3);
    const large = turned(y, 17) ^ turned(y, 19) ^ (y >>> 10);
    words[i] = ((words[i - 16] as number) + small + (words[i - 7] as number) + large) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as Eight;
  for (let i = 0; i < 64; i++) {
    const ofE = (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g));
    const first = (h + ofE + (ROUNDS[i] as number) + (words[i] as number)) | 0;
    const ofA = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + ofA) | 0;
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries())
    state[i] = (state[i] as number) + word;
}

type Eight = [number, number, number, number, number, number, number, number];

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

/** The first 32 bits behind the point: of the square roots of the first primes, and of the cube roots of 64 of them. */
const PRIMES = firstPrimes(64);
const STARTS = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const ROUNDS = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));

function fraction(root: number): number {
  return ((root % 1) * 2 ** 32) | 0;
}

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n++)
    if (primes.every((prime) => n % prime)) primes.push(n);
  return primes;
}
