import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Clock } from '../../ports/clock.ts';
import { Broken } from '../case.ts';
import type { Watcher } from './watcher.ts';
import { hear, type Listener } from './worker-output.ts';

/** How it ended: `exit code 1`, `SIGKILL`. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface StartedWith {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Ends its group where this program cannot any more. */
  readonly watcher?: Pick<Watcher, 'began' | 'gone'> | undefined;
  /** Who hears its stdout and its stderr. */
  heard(stream: 'stdout' | 'stderr'): Listener;
  onEnd(ending: Ending): void;
  /** The kit sends it a signal. */
  onSignal(name: NodeJS.Signals): void;
}

/** The command cannot be started. */
export class NoProgram extends Error {
  override readonly name = 'NoProgram';
  /** What to do. */
  readonly next: string;

  constructor(says: string, next: string) {
    super(says);
    this.next = next;
  }
}

/** Groups that live, so that none outlives this program where it ends by itself; where it is killed the watcher ends them. */
const groups = new Set<number>();
process.on('exit', () => {
  for (const pid of groups) signalGroup(pid, 'SIGKILL');
});

/** The worker under test, the leader of a process group of its own. */
export class WorkerProcess {
  readonly pid: number;
  /** Resolves when the process has gone. */
  readonly ended: Promise<Ending>;
  /** It may go by itself: it was told to end. */
  mayEnd = false;
  #ending: Ending | undefined;
  readonly #child: ChildProcess;
  readonly #watcher: StartedWith['watcher'];
  readonly #onSignal: StartedWith['onSignal'];

  private constructor(child: ChildProcess, options: StartedWith) {
    const { clock, heard, onEnd, onSignal, watcher } = options;
    this.#onSignal = onSignal;
    this.pid = child.pid as number;
    this.#child = child;
    this.#watcher = watcher;
    groups.add(this.pid);
    watcher?.began(this.pid);
    for (const name of ['stdout', 'stderr'] as const) {
      const stream = child[name];
      if (stream) hear(stream, heard(name), clock);
    }
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#ending = { code, signal };
        onEnd(this.#ending);
        resolve(this.#ending);
      });
    });
  }

  /** Throws where the command cannot be started. */
  static async start(options: StartedWith): Promise<WorkerProcess> {
    const [program = '', ...args] = options.command;
    const { cwd, env } = options;
    const child = spawn(program, args, {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const failure = new Promise<Error>((told) => child.on('error', told));
    if (child.pid === undefined) throw notStarted(program, cwd, await failure);
    return new WorkerProcess(child, options);
  }

  get running(): boolean {
    return this.#ending === undefined;
  }

  /** Its group has a process: itself, or one that it has left there. */
  get groupLives(): boolean {
    if (!groups.has(this.pid)) return false;
    try {
      return process.kill(-this.pid, 0);
    } catch {
      return false;
    }
  }

  /** To the process itself, as a service manager sends it. */
  signal(name: 'SIGTERM' | 'SIGINT'): void {
    this.mayEnd = true;
    if (!this.running) return;
    this.#onSignal(name);
    process.kill(this.pid, name);
  }

  /** SIGKILL to the whole group: no word, no flush. Resolves when it has gone. */
  async kill(): Promise<void> {
    this.mayEnd = true;
    if (this.running) this.#onSignal('SIGKILL');
    signalGroup(this.pid, 'SIGKILL');
    await this.ended;
    groups.delete(this.pid);
    this.#watcher?.gone(this.pid);
  }

  /** Kills it and hears no more of it, whoever else holds its output open. */
  async close(): Promise<void> {
    await this.kill();
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  /** SIGSTOP to the whole group, as of a laptop that sleeps. */
  freeze(): void {
    this.#onSignal('SIGSTOP');
    signalGroup(this.pid, 'SIGSTOP');
  }

  thaw(): void {
    this.#onSignal('SIGCONT');
    signalGroup(this.pid, 'SIGCONT');
  }
}

export function endingWords({ code, signal }: Ending): string {
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}

/** @param expected the exit code of a worker that has drained. */
export function endedWith(ending: Ending, expected: number): void {
  if (ending.code === expected) return;
  throw new Broken(`The worker ended with ${endingWords(ending)}; expected is ${expected}.`);
}

function notStarted(program: string, cwd: string, error: NodeJS.ErrnoException): NoProgram {
  const isPath = program.includes('/');
  if (error.code === 'ENOENT' && isPath && existsSync(resolve(cwd, program)))
    return new NoProgram(
      `${program} cannot be started: it is there, but the interpreter in its first line is not.`,
      `Correct the line that begins with #!, or name the interpreter: -- python3 ${program}`,
    );
  if (error.code === 'ENOENT')
    return new NoProgram(
      `There is no program ${program}${isPath ? ` in ${cwd}` : ' on the PATH'}.`,
      'After -- stands the command that starts your worker, as you type it in this folder: -- python3 worker.py',
    );
  if (error.code === 'EACCES')
    return new NoProgram(
      `${program} is no program that may be run.`,
      `Make it one with chmod +x ${program}, or name its interpreter: -- python3 ${program}`,
    );
  return new NoProgram(
    `${program} cannot be started: ${error.message}.`,
    'Correct the command after --.',
  );
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name);
  } catch {
    // It has gone.
  }
}
