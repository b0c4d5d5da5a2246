import { hostDefaults } from '../core/defaults.ts';
import type { FromHost, ToHost } from './protocol.ts';

/**
 * Frames of one turn of the event loop, written as one piece: under load a system call carries many, and an idle
 * channel waits for nothing but the end of the turn.
 */
export class FrameBatch {
  readonly #write: (bytes: Buffer) => void;
  #texts: string[] = [];
  #bytes = 0;
  #soon = false;
  readonly #flush = () => this.flush();
  readonly #flushSoon = () => {
    this.#soon = false;
    this.flush();
  };

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  /**
   * @returns its bytes; one of more than `maxBytes` is not taken. Throws a RangeError where it is beyond what the channel
   * takes, and whatever JSON has against it.
   */
  add(frame: ToHost | FromHost, maxBytes: number = Number.POSITIVE_INFINITY): number {
    const text = JSON.stringify(frame);
    const bytes = Buffer.byteLength(text);
    if (bytes > hostDefaults.frameBytes) {
      throw new RangeError(
        `A message of ${bytes} bytes is too large: at most ${hostDefaults.frameBytes}.`,
      );
    }
    if (bytes > maxBytes) return bytes;
    if (this.#texts.push(text) === 1) setImmediate(this.#flush);
    this.#bytes += bytes;
    if (this.#bytes > BATCH_BYTES) this.flush();
    return bytes;
  }

  /** Out with it in a microtask, together with what is added until then. */
  soon(): void {
    if (this.#soon || this.#texts.length === 0) return;
    this.#soon = true;
    queueMicrotask(this.#flushSoon);
  }

  /** Out with it now: what follows may hold this thread, or end it. */
  flush(): void {
    if (this.#texts.length === 0) return;
    const texts = this.#texts;
    const buffer = Buffer.allocUnsafe(this.#bytes + 4 * texts.length);
    this.#texts = [];
    this.#bytes = 0;
    let at = 0;
    for (const text of texts) {
      const bytes = buffer.write(text, at + 4);
      buffer.writeUInt32BE(bytes, at);
      at += 4 + bytes;
    }
    this.#write(buffer);
  }
}

/** More than this is no small message: it gains nothing by waiting for others. */
const BATCH_BYTES = 262_144;
