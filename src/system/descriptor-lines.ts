import { writeSync } from 'node:fs';
import { FLUSH_MS, WAITING_BYTES } from './line-limits.ts';
import type { LineWriter } from './line-writer.ts';

/** Lines to a descriptor of which a write either ends at once or says EAGAIN. */
export class DescriptorLines implements LineWriter {
  readonly #fd: number;
  readonly #lostLine: (lines: number) => string;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #lost = 0;
  #dead = false;
  #again: NodeJS.Timeout | undefined;
  #flushed: (() => void)[] = [];

  constructor(fd: number, lostLine: (lines: number) => string) {
    this.#fd = fd;
    this.#lostLine = lostLine;
  }

  write(line: string): void {
    if (this.#dead) return;
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.length > WAITING_BYTES) {
      this.#lost++;
      return;
    }
    this.#wait(bytes);
    if (!this.#again) this.#push();
  }

  flush(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const late = setTimeout(resolve, FLUSH_MS);
      this.#flushed.push(() => {
        clearTimeout(late);
        resolve();
      });
    });
  }

  #wait(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  #push(): void {
    while (this.#waiting.length > 0 && !this.#again) {
      const bytes = this.#next();
      try {
        this.#written(bytes, writeSync(this.#fd, bytes));
      } catch (error) {
        this.#failed(bytes, (error as NodeJS.ErrnoException).code);
      }
    }
    if (this.#waiting.length === 0) for (const resolve of this.#flushed.splice(0)) resolve();
  }

  /** What waits, as one piece of bounded size. */
  #next(): Buffer {
    let bytes = 0;
    let count = 0;
    for (const line of this.#waiting) {
      if (count > 0 && bytes + line.length > PIECE_BYTES) break;
      bytes += line.length;
      count++;
    }
    return Buffer.concat(this.#waiting.splice(0, count));
  }

  #written(bytes: Buffer, count: number): void {
    this.#waitingBytes -= count;
    if (count < bytes.length) this.#waiting.unshift(bytes.subarray(count));
    else if (this.#lost > 0 && this.#waiting.length === 0) {
      const line = this.#lostLine(this.#lost);
      this.#lost = 0;
      this.#wait(Buffer.from(line));
    }
  }

  #failed(bytes: Buffer, code: string | undefined): void {
    if (code === 'EAGAIN' || code === 'EINTR') {
      this.#waiting.unshift(bytes);
      // Not a reason to stay alive.
      this.#again = setTimeout(() => {
        this.#again = undefined;
        this.#push();
      }, AGAIN_MS).unref();
      return;
    }
    this.#waitingBytes -= bytes.length;
    // A full disk may get room again: only these lines are gone. Of anything else there is no end.
    if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EIO') {
      this.#lost++;
      return;
    }
    this.#dead = true;
    this.#waiting = [];
    this.#waitingBytes = 0;
  }
}

const PIECE_BYTES = 65_536;
/** How soon a full pipe is tried again. */
const AGAIN_MS = 50;
