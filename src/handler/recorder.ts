/**
 * The flight recorder of a host: a file without a name that agent and host share (descriptor 5 of the host). Before a
 * short job begins, its number stands there, with the ends of those before it that are not on the channel yet. It wakes
 * nobody and costs a microsecond; the agent reads it when a job is slow or the host has died, and so always knows what has begun
 * and loses no end.
 *
 * Records from the start of the file: bytes of the ends (4), number (4), ends (frames as on the channel), number again (4); then
 * four bytes of ones, where the next one begins: what is behind them is of before. What is sent begins the file anew. A record that was written in part does not
 * end with its number.
 */
import { aheadInHostDefaults } from '../core/defaults.ts';

const FRAME_BYTES = 12;
const END = 0xffffffff;
const END_BYTES = 4;

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
}

export function readRecords(file: Buffer): Recorded {
  let begun = 0;
  let at = 0;
  const ends: Buffer[] = [];
  while (at + FRAME_BYTES <= file.length) {
    const bytes = file.readUInt32LE(at);
    const n = file.readUInt32LE(at + 4);
    const last = at + 8 + bytes;
    if (n <= begun || last + 4 > file.length || file.readUInt32LE(last) !== n) break;
    begun = n;
    ends.push(file.subarray(at + 8, last));
    at = last + 4;
  }
  return { begun, ends: Buffer.concat(ends) };
}

/** The host's end: what it has to say of short jobs, kept safe until it is on the channel. */
export class Recorder {
  readonly #keep: (record: Buffer, at: number) => void;
  readonly #send: (frames: Buffer, out: () => void) => void;
  #unsent: Buffer[] = [];
  #unsentBytes = 0;
  #kept = 0;
  #at = 0;
  #soon = false;

  /**
   * @param keep writes to the file.
   * @param send writes to the channel; calls back when it is out, mostly at once.
   */
  constructor(
    keep: (record: Buffer, at: number) => void,
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

  /** Before the job begins. What is not sent by then goes out in this turn of the loop, should the job give way. */
  begins(n: number): void {
    const record = encodeRecord(
      n,
      this.#kept === 0 ? this.#unsent : this.#unsent.slice(this.#kept),
    );
    this.#keep(record, this.#at);
    this.#at += record.length - END_BYTES;
    this.#kept = this.#unsent.length;
    if (this.#kept === 0 || this.#soon) return;
    this.#soon = true;
    setImmediate(() => {
      this.#soon = false;
      this.flush();
    });
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
