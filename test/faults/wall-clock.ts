/** The wall clock of single processes, set by a preloaded library that gcc makes when a test needs it. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Must outlive the processes that go by it: `using` it before their world. */
export class WallClock implements Disposable {
  /** For the processes that are to live by it; what they start inherits it where it inherits the environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly #folder = mkdtempSync(join(tmpdir(), 'interlock-clock-'));
  readonly #file = join(this.#folder, 'ahead');

  constructor() {
    const library = join(this.#folder, 'wall-clock.so');
    const source = join(import.meta.dirname, 'wall-clock.c');
    execFileSync('gcc', ['-shared', '-fPIC', '-O1', '-Wall', '-o', library, source, '-ldl']);
    this.env = { LD_PRELOAD: library, WALL_CLOCK_FILE: this.#file };
    writeFileSync(this.#file, Buffer.alloc(8));
  }

  /** So far before (or, negative, behind) the machine's from now on. */
  setAhead(ms: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(ms));
    // Written over: a file that was cut first has no bytes for a moment, and its readers would die of it.
    writeFileSync(this.#file, bytes, { flag: 'r+' });
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
