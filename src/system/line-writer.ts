import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';

/**
 * Writes lines to a file descriptor of which nobody knows who reads it. Never throws and never blocks the
 * event loop: while a reader takes nothing, lines wait up to a bound and then are dropped and counted; once
 * nobody can read any more (EPIPE), all are.
 *
 * Lines are written at once where that cannot block (files; on Linux also pipes and terminals, through a
 * non-blocking twin of the descriptor), so the last words before an exit are there. Elsewhere (sockets,
 * pipes of other systems) they are written by the thread pool: await `flush` before an exit.
 */
export class LineWriter {
  readonly #fd: number;
  readonly #atOnce: boolean;
  /** Makes the line that tells how many were dropped. */
  readonly #lostLine: (lines: number) => string;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #lost = 0;
  #writing = false;
  #dead = false;
  #again: NodeJS.Timeout | undefined;
  #flushed: (() => void)[] = [];

  constructor(fd: number, lostLine: (lines: number) => string) {
    this.#lostLine = lostLine;
    const form = openForm(fd);
    this.#fd = form.fd;
    this.#atOnce = form.atOnce;
    this.#dead = form.closed;
  }

  /** @param line with its newline. */
  write(line: string): void {
    if (this.#dead) return;
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.length > WAITING_BYTES) {
      this.#lost++;
      return;
    }
    this.#wait(bytes);
    this.#push();
  }

  /** Resolves when nothing waits, when nobody reads any more, or after `FLUSH_MS`. */
  flush(): Promise<void> {
    if (this.#dead || (this.#waiting.length === 0 && !this.#writing)) return Promise.resolve();
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
    if (this.#atOnce) this.#pushAtOnce();
    else if (!this.#writing) this.#pushInPool();
  }

  #pushAtOnce(): void {
    while (this.#waiting.length > 0 && !this.#again) {
      const bytes = this.#next();
      try {
        this.#written(bytes, writeSync(this.#fd, bytes));
      } catch (error) {
        this.#failed(bytes, error as NodeJS.ErrnoException);
      }
    }
    this.#settled();
  }

  #pushInPool(): void {
    if (this.#waiting.length === 0 || this.#again) {
      this.#settled();
      return;
    }
    this.#writing = true;
    const bytes = this.#next();
    write(this.#fd, bytes, 0, bytes.length, null, (error, count) => {
      this.#writing = false;
      if (error) this.#failed(bytes, error);
      else this.#written(bytes, count);
      this.#pushInPool();
    });
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
    const pieces = this.#waiting.splice(0, count);
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  }

  #written(bytes: Buffer, count: number): void {
    this.#waitingBytes -= count;
    if (count < bytes.length) this.#waiting.unshift(bytes.subarray(count));
    else if (this.#lost > 0 && this.#waiting.length === 0) {
      const lost = Buffer.from(this.#lostLine(this.#lost));
      this.#lost = 0;
      this.#wait(lost);
    }
  }

  #failed(bytes: Buffer, error: NodeJS.ErrnoException): void {
    if (error.code === 'EAGAIN' || error.code === 'EINTR') {
      this.#waiting.unshift(bytes);
      // Not a reason to stay alive.
      this.#again = setTimeout(() => {
        this.#again = undefined;
        this.#push();
      }, AGAIN_MS).unref();
      return;
    }
    this.#waitingBytes -= bytes.length;
    if (error.code === 'ENOSPC' || error.code === 'EDQUOT' || error.code === 'EIO') {
      // A full disk may get room again: only these lines are gone.
      this.#lost++;
      return;
    }
    this.#dead = true;
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  #settled(): void {
    if (!this.#dead && (this.#waiting.length > 0 || this.#writing)) return;
    for (const resolve of this.#flushed.splice(0)) resolve();
  }
}

function openForm(fd: number): { fd: number; atOnce: boolean; closed: boolean } {
  try {
    const kind = fstatSync(fd);
    if (kind.isFile()) return { fd, atOnce: true, closed: false };
    if (process.platform === 'linux' && (kind.isFIFO() || kind.isCharacterDevice())) {
      const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
      return { fd: openSync(`/proc/self/fd/${fd}`, flags), atOnce: true, closed: false };
    }
    return { fd, atOnce: false, closed: false };
  } catch (error) {
    // EBADF: started with it closed. Anything else: no twin to be had.
    return { fd, atOnce: false, closed: (error as NodeJS.ErrnoException).code === 'EBADF' };
  }
}

/** About ten thousand lines: a reader that rests longer than that misses some. */
const WAITING_BYTES = 2_097_152;
const PIECE_BYTES = 65_536;
/** How soon a full pipe is tried again. */
const AGAIN_MS = 50;
/** How long an exit waits for a reader that takes nothing. */
const FLUSH_MS = 500;
