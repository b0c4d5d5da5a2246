/**
 * Finds out cheaply what a call has left running. The kernel numbers processes in order and
 * tells the last number: what was started since a moment has a number after it, and mostly there is none at all.
 */
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import type { Clock } from '../ports/clock.ts';
import { allKin, isKin, type Kin } from './kin.ts';

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

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  mark(): Mark {
    return { last: this.#last(), at: this.#clock.now() };
  }

  /** A process was started since `mark`: if the kernel's word does not show it, it is not asked again. */
  verify(mark: Mark, pid: number): void {
    const now = this.#last();
    if (now === mark.last || now === undefined) this.#trusted = false;
    else if (mark.last !== undefined && now > mark.last && now < pid) this.#trusted = false;
  }

  /**
   * Processes of a host, without itself, that were started since `mark`. May name older ones too, where it had to look
   * at all. `undefined` where nothing can be known.
   */
  since(mark: Mark, kin: Kin | undefined): number[] | undefined {
    if (process.platform !== 'linux' || kin === undefined) return undefined;
    try {
      return this.#since(mark, kin);
    } catch {
      return undefined; // Too many open files.
    }
  }

  #since(mark: Mark, kin: Kin): number[] {
    const now = this.#last();
    if (now !== undefined && now === mark.last && this.#fresh(mark)) return [];
    const ordered = mark.last !== undefined && now !== undefined && now >= mark.last;
    if (!ordered || now - (mark.last ?? 0) > RANGE_MAX || !this.#fresh(mark)) {
      return allKin(kin).filter((pid) => pid !== kin.pid);
    }
    const found: number[] = [];
    for (let pid = mark.last + 1; pid <= now; pid++) {
      const there = pid !== kin.pid && existsSync(`/proc/${pid}`);
      if (there && isKin(pid, kin) && !isThread(pid)) found.push(pid);
    }
    return found;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  /** Numbers are used again after the highest: a long time ago is no place in their order. */
  #fresh(mark: Mark): boolean {
    return this.#clock.now() - mark.at < FRESH_MS;
  }

  #last(): number | undefined {
    if (!this.#trusted) return undefined;
    try {
      this.#file ??= openSync('/proc/loadavg', 'r');
      const length = readSync(this.#file, this.#buffer, 0, this.#buffer.length, 0);
      const last = Number(this.#buffer.toString('latin1', 0, length).trimEnd().split(' ').at(-1));
      return last > 0 ? last : undefined;
    } catch {
      return undefined;
    }
  }
}

/** Beyond this it is cheaper to list all processes. */
const RANGE_MAX = 500;
/** The smallest range of process numbers (32,768) is not used up in this. */
const FRESH_MS = 5_000;

/** Threads have numbers too, but are in no list of processes. */
function isThread(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(status.match(/^Tgid:\s*(\d+)$/m)?.[1] ?? pid) !== pid;
  } catch {
    return true; // It has just gone.
  }
}
