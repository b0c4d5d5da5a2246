import { limits } from '../contract/limits.ts';
import type { LogLine } from '../ports/carrier.ts';
import { cutBytes, type JobLog } from './job-log.ts';

/**
 * Makes lines of the bytes of one stream. A line without an end is cut at its bound and the rest of it dropped;
 * invalid UTF-8 becomes U+FFFD; a character split between chunks is put together.
 */
export class OutputLines {
  readonly #log: JobLog;
  readonly #level: LogLine['level'];
  #decoder = new TextDecoder('utf-8');
  #partial = '';
  /** Inside a line that was cut. */
  #skipping = false;

  constructor(log: JobLog, level: LogLine['level']) {
    this.#log = log;
    this.#level = level;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    if (this.#skipping && !this.#log.full) {
      const end = chunk.indexOf(0x0a);
      rest = end < 0 ? Buffer.alloc(0) : chunk.subarray(end + 1);
      this.#log.drop(chunk.length - rest.length);
      if (end >= 0) {
        this.#decoder = new TextDecoder('utf-8');
        this.#skipping = false;
      }
    }
    if (this.#log.full) this.#log.drop(rest.length);
    else this.#log.together(() => this.#take(this.#decoder.decode(rest, { stream: true })));
  }

  /** The last line may lack its newline. */
  end(): void {
    if (this.#log.full || this.#skipping) return;
    this.#take(this.#decoder.decode());
    if (this.#partial !== '') this.#log.add(this.#level, this.#partial);
    this.#partial = '';
  }

  #take(text: string): void {
    const lines = text.split('\n');
    const last = lines.pop() ?? '';
    for (const line of lines) {
      this.#log.add(this.#level, this.#joined(line));
      this.#partial = '';
    }
    this.#partial += last;
    if (this.#partial.length > limits.logLineBytes) {
      const kept = cutBytes(this.#partial, limits.logLineBytes);
      this.#log.add(this.#level, kept);
      this.#log.drop(Buffer.byteLength(this.#partial) - Buffer.byteLength(kept));
      this.#partial = '';
      this.#skipping = true;
    }
  }

  #joined(line: string): string {
    const whole = this.#partial + line;
    return whole.endsWith('\r') ? whole.slice(0, -1) : whole;
  }
}

/** The last bytes of a stream, for when its process dies. */
export class Tail {
  readonly #max: number;
  #kept: Buffer = Buffer.alloc(0);

  constructor(max: number) {
    this.#max = max;
  }

  push(chunk: Buffer): void {
    // Copies: a slice would keep the whole chunk alive.
    this.#kept =
      chunk.length >= this.#max
        ? Buffer.from(chunk.subarray(chunk.length - this.#max))
        : Buffer.concat([
            this.#kept.subarray(Math.max(0, this.#kept.length + chunk.length - this.#max)),
            chunk,
          ]);
  }

  clear(): void {
    this.#kept = Buffer.alloc(0);
  }

  get text(): string {
    return this.#kept.toString('utf8');
  }
}
