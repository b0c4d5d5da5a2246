import type { Readable } from 'node:stream';
import type { Clock } from '../../ports/clock.ts';

/** Where in a text a key or a token stands. */
export interface Found {
  /** `its key`, `a leaseToken`. */
  readonly what: string;
  readonly at: number;
}

export interface Listener {
  find(text: string): Found | undefined;
  /** The text without keys and tokens, no shorter than before. */
  mask(text: string): string;
  /** Each line, masked and cut. */
  onLine(line: string): void;
  /** The first secret of a stream. @param line from 1 on. */
  onSecret(what: string, line: number): void;
}

/** A line is cut here. */
const LINE_CHARS = 4_000;
/** Longer than any key or token: what is kept of a text so that none is missed, or shown in part, at its edge. */
const EDGE_CHARS = 256;
/** A worker that prints without end is heard at 4 MiB/s; its pipe makes it wait, the cases beside it do not. */
const BYTES_AT_ONCE = 1_048_576;
const PAUSE_MS = 250;

/** Hears stdout or stderr of a worker, to its end and in bounded memory. */
export function hear(stream: Readable, listener: Listener, clock: Clock): void {
  const text = new OutputText(listener);
  let left = BYTES_AT_ONCE;
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    text.feed(chunk);
    left -= chunk.length;
    if (left > 0) return;
    left = BYTES_AT_ONCE;
    stream.pause();
    clock.timer(PAUSE_MS, () => stream.resume());
  });
  stream.on('end', () => text.end());
  stream.on('error', () => {});
}

/** Makes lines of what comes in pieces, and looks for secrets across the edges of pieces and beyond the cuts of lines. */
export class OutputText {
  readonly #listener: Listener;
  /** The line that has not ended; what is beyond its bound is not kept. */
  #rest = '';
  /** The end of what was looked at. */
  #seen = '';
  /** Lines before `#seen`. */
  #lines = 0;
  #found = false;

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  feed(text: string): void {
    if (!this.#found) this.#look(text);
    let from = 0;
    for (let to = text.indexOf('\n'); to >= 0; to = text.indexOf('\n', from)) {
      this.#append(text, from, to);
      this.#tell();
      from = to + 1;
    }
    this.#append(text, from, text.length);
  }

  end(): void {
    if (this.#rest !== '') this.#tell();
  }

  #append(text: string, from: number, to: number): void {
    const room = LINE_CHARS + EDGE_CHARS - this.#rest.length;
    if (room > 0) this.#rest += text.slice(from, Math.min(to, from + room));
  }

  #tell(): void {
    const line = this.#listener.mask(this.#rest).slice(0, LINE_CHARS);
    this.#rest = '';
    // A copy: a slice would hold the whole piece in memory.
    this.#listener.onLine(Buffer.from(line).toString());
  }

  #look(text: string): void {
    const all = this.#seen + text;
    const secret = this.#listener.find(all);
    if (secret) {
      this.#found = true;
      this.#seen = '';
      const line = this.#lines + newlines(all, secret.at) + 1;
      this.#listener.onSecret(secret.what, line);
      return;
    }
    const known = Math.max(0, all.length - EDGE_CHARS);
    this.#lines += newlines(all, known);
    this.#seen = Buffer.from(all.slice(known)).toString();
  }
}

/** Before this place. */
function newlines(text: string, end: number): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < end; at = text.indexOf('\n', at + 1)) count++;
  return count;
}
