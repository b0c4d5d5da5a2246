/**
 * The flight recorder of a host: a file without a name that agent and host share (descriptor 5 of the host). Before a
 * short job begins, its number stands there, with the ends of those before it that are not on the channel yet. It wakes
 * nobody and costs a microsecond; the agent reads it when a job is slow or the host has died, and so always knows what has begun
 * and loses no end.
 *
 * First two words of the agent (`Forbidden`). Before it takes a job back without an answer it writes them and then reads what has begun; the host
 * records a begin and then reads them. So one of the two sees the other, however long either was held between.
 *
 * Then the records: bytes of the ends (4), number (4), ends (frames as on the channel), number again (4); then
 * four bytes of ones, where the next one begins: what is behind them is of before. What is sent begins the file anew. A record that was written in part does not
 * end with its number.
 */
import { aheadInHostDefaults } from '../core/defaults.ts';

/** As it is at load: a handler may put another in its place. */
const nextTurn = setImmediate;
const FRAME_BYTES = 12;
const END = 0xffffffff;
const END_BYTES = 4;
const FORBIDDEN_MARK = 0x5a17c3e9;

/** The whole file: it has this size from the start, so that no disk that fills up later is in the way. */
export const RECORDER_BYTES = 2 * aheadInHostDefaults.unsentBytes;
/** The agent's words at its start. */
export const FORBIDDEN_BYTES = 12;

/** What no job begins for any more: all up to `last`, but `kept`. Nothing: zeros. */
export interface Forbidden {
  readonly last: number;
  readonly kept: number;
}

export function encodeForbidden({ last, kept }: Forbidden): Buffer {
  const words = Buffer.alloc(FORBIDDEN_BYTES);
  words.writeUInt32LE(last, 0);
  words.writeUInt32LE(kept, 4);
  words.writeUInt32LE(checkOf(words), 8);
  return words;
}

function checkOf(words: Buffer): number {
  return (words.readUInt32LE(0) ^ words.readUInt32LE(4) ^ FORBIDDEN_MARK) >>> 0;
}

/** `undefined`: it is being written, or a handler wrote there. Such a host is not to give back all that it is ever given. */
export function forbids(words: Buffer, n: number): boolean | undefined {
  const check = words.readUInt32LE(8);
  if (check === 0 && words.readUInt32LE(0) === 0) return false;
  if (check !== checkOf(words)) return undefined;
  return n <= words.readUInt32LE(0) && n !== words.readUInt32LE(4);
}

export function encodeRecord(n: number, ends: readonly Buffer[]): Buffer {
  let bytes = 0;
  for (const end of ends) bytes += end.length;
  const record = Buffer.allocUnsafe(FRAME_BYTES + bytes + END_BYTES);
  record.writeUInt32LE(bytes, 0);
  record.writeUInt32LE(n, 4);
  let at = 8;
  for (const end of ends) at += end.copy(record, at);
  record.writeUInt32LE(n, at);
  record.writeUInt32LE(END, at + 4);
  return record;
}

export interface Recorded {
  /** The last job that has begun; 0: none. */
  readonly begun: number;
  /** Frames that may not have been sent, encoded. */
  readonly ends: Buffer;
  /** The bytes end where another record may begin or go on. */
  readonly cut: boolean;
}

export function readRecords(file: Buffer): Recorded {
  let begun = 0;
  let at = 0;
  const ends: Buffer[] = [];
  let cut = true;
  while (at + FRAME_BYTES <= file.length) {
    const bytes = file.readUInt32LE(at);
    const n = file.readUInt32LE(at + 4);
    const last = at + 8 + bytes;
    cut = bytes !== END && n > begun && last + 4 > file.length;
    if (bytes === END || n <= begun || cut || file.readUInt32LE(last) !== n) break;
    cut = true;
    begun = n;
    ends.push(file.subarray(at + 8, last));
    at = last + 4;
  }
  return { begun, ends: Buffer.concat(ends), cut };
}

/** The host's end: what it has to say of short jobs, kept safe until it is on the channel. */
export class Recorder {
  readonly #keep: (record: Buffer, at: number) => boolean;
  readonly #send: (frames: Buffer, out: () => void) => void;
  #unsent: Buffer[] = [];
  #unsentBytes = 0;
  #kept = 0;
  #at = 0;
  #soon = false;

  /**
   * @param keep writes to the file, so far behind the agent's words. `false`: not, or not all of it.
   * @param send writes to the channel; calls back when it is out, mostly at once.
   */
  constructor(
    keep: (record: Buffer, at: number) => boolean,
    send: (frames: Buffer, out: () => void) => void,
  ) {
    this.#keep = keep;
    this.#send = send;
  }

  /** So much waits that it is to be sent first. */
  get full(): boolean {
    return this.#unsentBytes > aheadInHostDefaults.unsentBytes;
  }

  /** A frame that goes out with the next `flush`. */
  add(frame: Buffer): void {
    this.#unsent.push(frame);
    this.#unsentBytes += frame.length;
  }

  /**
   * Before the job begins. What is not sent by then goes out in this turn of the loop, should the job give way.
   * `false`: it could not be kept, and all has to go out before the job begins.
   */
  begins(n: number): boolean {
    const record = encodeRecord(
      n,
      this.#kept === 0 ? this.#unsent : this.#unsent.slice(this.#kept),
    );
    const end = FORBIDDEN_BYTES + this.#at + record.length;
    if (end > RECORDER_BYTES || !this.#keep(record, this.#at)) return false;
    this.#at += record.length - END_BYTES;
    this.#kept = this.#unsent.length;
    if (this.#kept === 0 || this.#soon) return true;
    this.#soon = true;
    nextTurn(() => {
      this.#soon = false;
      this.flush();
    });
    return true;
  }

  /** @param out called when all is out; a record is not written over before. */
  flush(out: () => void = () => {}): void {
    const frames = this.#unsent;
    if (frames.length === 0) {
      out();
      return;
    }
    const [first] = frames;
    this.#unsent = [];
    this.#unsentBytes = 0;
    this.#kept = 0;
    this.#send(frames.length === 1 && first ? first : Buffer.concat(frames), () => {
      if (this.#unsent.length === 0) this.#at = 0;
      out();
    });
  }
}
