/**
 * Finds out cheaply what a call has left running. The kernel numbers processes in order and
 * tells the last number: what was started since a moment has a number after it, and mostly there is none at all.
 * One look serves all calls that end together.
 */
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import type { Clock } from '../ports/clock.ts';
import { allKin, isKin, isStranger, type Kin } from './kin.ts';

/** A moment in the order of processes. */
export interface Mark {
  /** Number of the last process before it; `undefined` where the kernel does not tell (some sandboxes). */
  readonly last: number | undefined;
  readonly at: number;
}

export class NewProcesses {
  readonly #clock: Clock;
  readonly #buffer = Buffer.alloc(128);
  #file: number | undefined;
  #trusted = process.platform === 'linux';
  #latest: Mark | undefined;
  /** Processes that no host has to do with, looked at once and not again by each job of a busy machine; when that was. */
  readonly #strangers = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * A moment that is not after now. It may be a little before: then what was started in between counts as started since,
   * so nothing is missed.
   */
  mark(): Mark {
    const latest = this.#latest;
    if (latest !== undefined && this.#clock.now() - latest.at < MARK_MS) return latest;
    return this.look();
  }

  /** This very moment. */
  look(): Mark {
    const look = { last: this.#last(), at: this.#clock.now() };
    this.#latest = look;
    return look;
  }

  /** A process was started since `mark`: if the kernel's word does not show it, it is not asked again. */
  verify(mark: Mark, pid: number): void {
    const now = this.#last();
    if (now === mark.last || now === undefined) this.#trusted = false;
    else if (mark.last !== undefined && now > mark.last && now < pid) this.#trusted = false;
  }

  /**
   * Processes of a host, without itself, that were started between `mark` and `until`. May name others too, where it had to
   * look at all. `undefined` where nothing can be known.
   */
  between(mark: Mark, until: Mark, kin: Kin | undefined): number[] | undefined {
    if (process.platform !== 'linux' || kin === undefined) return undefined;
    try {
      return this.#between(mark, until, kin);
    } catch {
      return undefined; // Too many open files.
    }
  }

  /** … and now. */
  since(mark: Mark, kin: Kin | undefined): number[] | undefined {
    return this.between(mark, this.look(), kin);
  }

  #between(mark: Mark, until: Mark, kin: Kin): number[] {
    const now = this.#trusted ? until.last : undefined;
    // Numbers are used again after the highest: a long time ago is no place in their order.
    const fresh = until.at - mark.at < FRESH_MS;
    if (now !== undefined && now === mark.last && fresh) return [];
    const ordered = mark.last !== undefined && now !== undefined && now >= mark.last;
    if (!ordered || now - (mark.last ?? 0) > RANGE_MAX || !fresh) {
      return allKin(kin).filter((pid) => pid !== kin.pid);
    }
    const found: number[] = [];
    this.#forgetStrangers(until.at);
    for (let pid = mark.last + 1; pid <= now; pid++) {
      if (pid === kin.pid || this.#strangers.has(pid) || !existsSync(`/proc/${pid}`)) continue;
      if (isKin(pid, kin)) {
        if (!isThread(pid)) found.push(pid);
      } else if (isStranger(pid)) this.#strangers.set(pid, until.at);
    }
    return found;
  }

  /** Their numbers may be used again. */
  #forgetStrangers(now: number): void {
    for (const [pid, at] of this.#strangers) {
      if (now - at < FRESH_MS) return;
      this.#strangers.delete(pid);
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #last(): number | undefined {
    if (!this.#trusted) return undefined;
    try {
      this.#file ??= openSync('/proc/loadavg', 'r');
      const length = readSync(this.#file, this.#buffer, 0, this.#buffer.length, 0);
      return lastNumber(this.#buffer, length);
    } catch {
      return undefined;
    }
  }
}

/** Of `0.20 0.18 0.12 1/80 11206\n`, without making strings of it. */
function lastNumber(text: Buffer, length: number): number | undefined {
  let at = text.lastIndexOf(0x20, length - 1) + 1;
  if (at === 0) return undefined;
  let last = 0;
  for (; at < length; at++) {
    const digit = (text[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) break;
    last = last * 10 + digit;
  }
  return last > 0 ? last : undefined;
}

/** Beyond this it is cheaper to list all processes. */
const RANGE_MAX = 500;
/** The smallest range of process numbers (32,768) is not used up in this. */
const FRESH_MS = 5_000;
/** A mark is not older than this: on a machine that starts many processes each one in between has to be looked at. */
const MARK_MS = 10;

/** Threads have numbers too, but are in no list of processes. */
function isThread(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(status.match(/^Tgid:\s*(\d+)$/m)?.[1] ?? pid) !== pid;
  } catch {
    return true; // It has just gone.
  }
}
