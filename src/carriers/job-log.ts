/**
 * The log of one call: lines of `ctx.log`, stdout and stderr, bounded per line and altogether. It always takes
 * everything, so a chatty handler is never blocked; what is too much is counted and told.
 */

import { limits } from '../contract/limits.ts';
import { hostDefaults } from '../core/defaults.ts';
import type { LogLine } from '../ports/carrier.ts';
import type { Clock } from '../ports/clock.ts';

export class JobLog {
  readonly #clock: Clock;
  readonly #deliver: (lines: readonly LogLine[]) => void;
  #left: number = hostDefaults.logBytes;
  #dropped = 0;
  #batch: LogLine[] | undefined;

  constructor(clock: Clock, deliver: (lines: readonly LogLine[]) => void) {
    this.#clock = clock;
    this.#deliver = deliver;
  }

  /** No line fits any more: who feeds it may save the work of making lines. */
  get full(): boolean {
    return this.#left < 0;
  }

  add(level: LogLine['level'], text: string): void {
    if (this.full) {
      this.drop(Buffer.byteLength(text));
      return;
    }
    const line = cutBytes(text, limits.logLineBytes);
    this.#left -= Buffer.byteLength(line) + hostDefaults.logLineOverheadBytes;
    if (this.full) {
      this.drop(Buffer.byteLength(text));
      this.#put('warn', `… output truncated: ${LIMIT}.`);
    } else this.#put(level, line);
  }

  /** Bytes that were not kept. */
  drop(bytes: number): void {
    this.#dropped += bytes;
  }

  /** Says at the end how much is missing. */
  end(): void {
    if (this.#dropped > 0) {
      this.#put('warn', `… output truncated: ${this.#dropped} bytes were not kept; ${LIMIT}.`);
    }
  }

  /** Lines that come together are delivered together. */
  together(work: () => void): void {
    const batch: LogLine[] = [];
    this.#batch = batch;
    try {
      work();
    } finally {
      this.#batch = undefined;
    }
    if (batch.length > 0) this.#deliver(batch);
  }

  #put(level: LogLine['level'], text: string): void {
    const line = { at: new Date(this.#clock.wall()).toISOString(), level, text };
    if (this.#batch) this.#batch.push(line);
    else this.#deliver([line]);
  }
}

const LIMIT = `at most ${hostDefaults.logBytes} bytes of one attempt are kept`;

/** Cuts to bytes of UTF-8, says so, and leaves no half character. */
export function cutBytes(text: string, max: number): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  // Three bytes are the most that one unit of a string becomes.
  if (whole.length * 3 <= max || Buffer.byteLength(whole) <= max) return whole;
  const { read } = new TextEncoder().encodeInto(whole, new Uint8Array(max - LINE_CUT_BYTES));
  return whole.slice(0, read) + LINE_CUT;
}

const LINE_CUT = ' … (line cut)';
const LINE_CUT_BYTES = Buffer.byteLength(LINE_CUT);
