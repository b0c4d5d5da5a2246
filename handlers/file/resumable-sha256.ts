/**
 * SHA-256 whose state can be written down and taken up again in another process (FIPS 180-4). Node's own hash is
 * faster but keeps its state to itself; this one is for small amounts, such as a list of digests.
 */

/** Eight words, the bytes of an unfinished block, and how many bytes there were: as text for a checkpoint. */
export interface Sha256State {
  readonly words: readonly number[];
  readonly rest: string;
  readonly bytes: number;
}

const BLOCK = 64;

export class ResumableSha256 {
  readonly #words: Uint32Array;
  readonly #block = new Uint8Array(BLOCK);
  #filled = 0;
  #bytes = 0;

  constructor(state?: Sha256State) {
    this.#words = Uint32Array.from(state?.words ?? INITIAL);
    if (state === undefined) return;
    const rest = Buffer.from(state.rest, 'base64');
    this.#block.set(rest);
    this.#filled = rest.length;
    this.#bytes = state.bytes;
  }

  get state(): Sha256State {
    return {
      words: [...this.#words],
      rest: Buffer.from(this.#block.subarray(0, this.#filled)).toString('base64'),
      bytes: this.#bytes,
    };
  }

  update(data: Uint8Array): void {
    this.#bytes += data.length;
    for (let at = 0; at < data.length; ) {
      const part = data.subarray(at, at + BLOCK - this.#filled);
      this.#block.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled === BLOCK) {
        compress(this.#words, this.#block);
        this.#filled = 0;
      }
    }
  }

  /** The digest of all so far. More may follow. */
  hex(): string {
    const end = new ResumableSha256(this.state);
    const padding = new Uint8Array((this.#filled < 56 ? 56 : 120) - this.#filled + 8);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setBigUint64(padding.length - 8, BigInt(this.#bytes) * 8n);
    end.update(padding);
    return [...end.#words].map((word) => word.toString(16).padStart(8, '0')).join('');
  }
}

/** Fractions of the cube roots (and for the initial words: square roots) of the first primes, 32 bits each. */
const PRIMES = [...primes(64)];
const ROUND = Uint32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));
const INITIAL = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));

function* primes(count: number): Generator<number> {
  for (let n = 2, found = 0; found < count; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) if (n % d === 0) prime = false;
    if (!prime) continue;
    found++;
    yield n;
  }
}

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32) >>> 0;
}

const schedule = new Uint32Array(BLOCK);

function compress(words: Uint32Array, block: Uint8Array): void {
  const view = new DataView(block.buffer, block.byteOffset, BLOCK);
  const w = schedule;
  for (let i = 0; i < 16; i++) w[i] = view.getUint32(i * 4);
  for (let i = 16; i < BLOCK; i++) {
    const [x, y] = [w[i - 15] as number, w[i - 2] as number];
    const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
    const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
    w[i] = (w[i - 16] as number) + s0 + (w[i - 7] as number) + s1;
  }
  let [a, b, c, d, e, f, g, h] = words as unknown as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  for (let i = 0; i < BLOCK; i++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const choice = (e & f) ^ (~e & g);
    const t1 = (h + s1 + choice + (ROUND[i] as number) + (w[i] as number)) | 0;
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const t2 = (s0 + majority) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) {
    words[i] = (words[i] as number) + word;
  }
}

function rotate(x: number, by: number): number {
  return (x >>> by) | (x << (32 - by));
}
