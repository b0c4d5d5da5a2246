import { hostDefaults } from '../core/defaults.ts';

/** The writing end of a pipe. */
export interface WritingEnd {
  /** Bytes that it takes at once. Throws where it takes none: EAGAIN where it is full. */
  now(bytes: Buffer): number;
  /** Writes it as soon as it takes it. Where it cannot be written any more, `then` is not called. */
  later(bytes: Buffer, then: () => void): void;
  /** Something given to `later` is not out yet. */
  readonly waiting: boolean;
  /** Bytes that are given to `later` at a time. */
  readonly laterBytes: number;
}

/**
 * What is to be written to a pipe, in order: at once as far as it takes it, past the stream and its ticks (they are a third
 * of what a short call costs a host). The stream only tells when a full pipe takes more: it has one byte, so what is out is
 * known at any time, and a process that ends can write the rest.
 */
export class ChannelQueue {
  readonly #end: WritingEnd;
  readonly #queue: { bytes: Buffer; readonly then: (() => void) | undefined }[] = [];

  constructor(end: WritingEnd) {
    this.#end = end;
  }

  /** @param then called when it is out: mostly at once. Never, where it cannot be written. */
  write(bytes: Buffer, then?: () => void): void {
    const rest = this.#queue.length === 0 ? this.#unwritten(bytes) : bytes;
    if (rest.length === 0) then?.();
    else if (this.#queue.push({ bytes: rest, then }) === 1) this.#wait();
  }

  /**
   * For a process that ends now: writes what is left, and waits for the reader where the pipe is full. Does not wait for ever:
   * a reader that has hung is not to keep it.
   *
   * @param pause holds the thread for this long.
   */
  last(pause: (ms: number) => void): void {
    let pauses = hostDefaults.lastWordsPauses;
    for (let first = true; this.#queue[0] !== undefined; first = false) {
      let { bytes } = this.#queue[0];
      // It went through the stream, which has not said so yet.
      if (first && !this.#end.waiting) bytes = bytes.subarray(this.#end.laterBytes);
      while (bytes.length > 0) {
        try {
          bytes = bytes.subarray(this.#end.now(bytes));
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || pauses-- <= 0) return;
          pause(hostDefaults.lastWordsPauseMs);
        }
      }
      this.#queue.shift();
    }
  }

  #wait(): void {
    const [first] = this.#queue;
    if (first === undefined) return;
    const part = first.bytes.subarray(0, this.#end.laterBytes);
    this.#end.later(part, () => {
      first.bytes = first.bytes.subarray(part.length);
      this.#goOn();
    });
  }

  #goOn(): void {
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      first.bytes = this.#unwritten(first.bytes);
      if (first.bytes.length > 0) {
        this.#wait();
        return;
      }
      this.#queue.shift();
      first.then?.();
    }
  }

  #unwritten(bytes: Buffer): Buffer {
    if (bytes.length === 0) return bytes;
    try {
      return bytes.subarray(this.#end.now(bytes));
    } catch {
      return bytes; // The stream waits, or tells what is wrong with the pipe.
    }
  }
}
