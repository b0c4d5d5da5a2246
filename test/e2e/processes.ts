/**
 * Real processes for tests, each ended by its own id. What a test starts carries a marker in its environment,
 * handler hosts too, so that at the end it can be seen that nothing of it is left.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PROGRAMS } from '../binary/executable.ts';

export const ROOT = dirname(dirname(import.meta.dirname));
const MARKER = 'E2E_MARKER';

export interface SpawnOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Leads a process group (and session) of its own, as a shell's job does [false]. */
  readonly group?: boolean;
  /** Its standard input stays open for `type` [it is empty]. */
  readonly typed?: boolean;
  /** It runs the program that is meant (as strace does): signals go to that, and it ends with it [false]. */
  readonly wrapper?: boolean;
}

/** How a process ended. */
export interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** All processes of one test. */
export class Processes {
  readonly marker = `e2e-${randomBytes(8).toString('hex')}`;
  readonly #home: string;
  readonly #started: Proc[] = [];
  readonly #onExit = () => {
    for (const one of this.#started) one.kill('SIGKILL');
  };

  /** @param home in place of the user's: nothing of a test goes there */
  constructor(home: string) {
    this.#home = home;
    // The test runner itself may be ended.
    process.on('exit', this.#onExit);
  }

  /** `interlock` and `interlock-worker` by their names, any other program by its path. */
  start(program: string, args: readonly string[], options: SpawnOptions = {}): Proc {
    const file = program.startsWith('interlock') ? join(PROGRAMS, program) : program;
    const { PATH = '', LANG = 'C.UTF-8' } = process.env;
    const child = spawn(file, args, {
      cwd: options.cwd ?? ROOT,
      env: { PATH, HOME: this.#home, LANG, ...options.env, [MARKER]: this.marker },
      detached: options.group === true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.on('error', () => {});
    if (!options.typed) child.stdin.end();
    const name = `${program} ${args.slice(0, 2).join(' ')}`;
    const proc = new Proc(child, name, options.wrapper === true);
    this.#started.push(proc);
    return proc;
  }

  /** Ids of what runs with our marker. Only where there is a `/proc`; elsewhere none is found. */
  left(): number[] {
    const wanted = `${MARKER}=${this.marker}\0`;
    return ids().filter((pid) => {
      try {
        return (
          readFileSync(`/proc/${pid}/environ`, 'utf8').includes(wanted) &&
          !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
        );
      } catch {
        return false;
      }
    });
  }

  /** Ends all of them and sees that they are gone, with everything that they had started. */
  async end(): Promise<void> {
    for (const one of this.#started) one.kill('SIGKILL');
    process.off('exit', this.#onExit);
    // A host ends when its channel closes: soon, not at once.
    const gone = await until(() => this.left().length === 0, 'end of all', 10_000).catch(
      () => false,
    );
    const left = gone ? [] : this.left();
    for (const pid of left) process.kill(pid, 'SIGKILL');
    await Promise.all(this.#started.map((one) => one.ended));
    if (left.length > 0) throw new Error(`Left behind: ${left.join(', ')}`);
  }
}

/** One process, with what it wrote. */
export class Proc {
  readonly pid: number;
  readonly ended: Promise<End>;
  end: End | undefined;
  out = '';
  err = '';
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #wrapper: boolean;
  readonly #waiting = new Set<() => void>();

  constructor(child: ChildProcess, name: string, wrapper: boolean) {
    this.#child = child;
    this.#name = name;
    this.#wrapper = wrapper;
    if (child.pid === undefined) throw new Error(`${name} could not be started`);
    this.pid = child.pid;
    const changed = () => {
      for (const look of this.#waiting) look();
    };
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.out += text;
      changed();
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.err += text;
      changed();
    });
    // `close`: when all that it wrote has been read.
    this.ended = once(child, 'close').then(([code, signal]) => {
      this.end = { code, signal };
      changed();
      return this.end;
    });
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** To this process alone. To one that has ended it does nothing. */
  kill(signal: NodeJS.Signals): void {
    if (!this.running) return;
    const inner = this.#wrapper ? childrenOf(this.pid) : [];
    if (inner.length === 0) this.#child.kill(signal);
    for (const pid of inner) process.kill(pid, signal);
  }

  /** To its whole process group, as a terminal does on Ctrl-C. Needs `group`. */
  killGroup(signal: NodeJS.Signals): void {
    if (this.running) process.kill(-this.pid, signal);
  }

  /** Writes to its standard input. Needs `typed`. */
  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** SIGKILL, and gone. */
  async crash(): Promise<void> {
    this.kill('SIGKILL');
    await this.ended;
  }

  /** How it ended. Rejects, with what it said, if it goes on for longer. */
  async ending(timeoutMs = 30_000): Promise<End> {
    await this.#until(() => this.end !== undefined, 'end', timeoutMs);
    return this.end as End;
  }

  /** The first match in what it wrote to stdout or stderr. Rejects when it ends before that. */
  async says(words: RegExp, timeoutMs = 30_000): Promise<RegExpExecArray> {
    const look = () => words.exec(this.out) ?? words.exec(this.err);
    await this.#until(() => look() !== null || this.end !== undefined, `say ${words}`, timeoutMs);
    const found = look();
    if (!found) throw new Error(`${this.#name} ended without saying ${words}:\n${this.tail()}`);
    return found;
  }

  /** The lines of its log (JSON) with this name of event. */
  events(name: string): Record<string, unknown>[] {
    return this.err
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ event }) => event === name);
  }

  async event(name: string, timeoutMs?: number): Promise<void> {
    await this.says(new RegExp(`"event":"${name.replaceAll('.', '\\.')}"`), timeoutMs);
  }

  /** The end of what it wrote. */
  tail(): string {
    return `${this.out.slice(-2_000)}\n${this.err.slice(-6_000)}`;
  }

  #until(look: () => boolean, what: string, timeoutMs: number): Promise<void> {
    if (look()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        this.#waiting.delete(again);
      };
      const again = () => {
        if (!look()) return;
        stop();
        resolve();
      };
      const timer = setTimeout(() => {
        stop();
        reject(new Error(`${this.#name} did not ${what} within ${timeoutMs} ms:\n${this.tail()}`));
      }, timeoutMs);
      this.#waiting.add(again);
    });
  }
}

/** Looks again and again at what tells no news by itself: files, processes. Resolves with what was found. */
export async function until<T>(
  look: () => T | Promise<T>,
  what: string,
  timeoutMs = 30_000,
): Promise<Exclude<T, undefined | null | false | '' | 0>> {
  const last = performance.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found) return found as Exclude<T, undefined | null | false | '' | 0>;
    if (performance.now() > last) throw new Error(`No ${what} within ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Direct children of a process, handler hosts of a worker for example. */
export function childrenOf(pid: number): number[] {
  return ids().filter((id) => statOf(id)?.parent === pid);
}

function statOf(pid: number): { parent: number } | undefined {
  try {
    const [, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return { parent: Number(parent) };
  } catch {
    return undefined;
  }
}

function ids(): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}
