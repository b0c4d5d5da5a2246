import type { Writable } from 'node:stream';
import { FLUSH_MS, WAITING_BYTES } from './line-limits.ts';
import type { LineWriter } from './line-writer.ts';

/** Lines to one of Node's streams. */
export class StreamLines implements LineWriter {
  readonly #stream: Writable;
  readonly #lostLine: (lines: number) => string;
  #lost = 0;

  constructor(stream: Writable, lostLine: (lines: number) => string) {
    this.#stream = stream;
    this.#lostLine = lostLine;
    // Without a listener a closed pipe would end the process.
    stream.on('error', () => {});
    stream.on('drain', () => this.#tellLost());
  }

  write(line: string): void {
    if (!this.#stream.writable) return;
    if (this.#stream.writableLength > WAITING_BYTES) this.#lost++;
    else this.#stream.write(line);
  }

  async flush(): Promise<void> {
    const stream = this.#stream;
    if (!stream.writable || stream.writableLength === 0) return;
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, FLUSH_MS);
      // Called in its turn, after all that waits, also with an error.
      stream.write('', () => {
        clearTimeout(late);
        resolve();
      });
    });
  }

  #tellLost(): void {
    if (this.#lost === 0) return;
    const line = this.#lostLine(this.#lost);
    this.#lost = 0;
    this.#stream.write(line);
  }
}
