import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { HostCommand } from '../../carriers/spawn-host.ts';
import { TaskError } from '../../contract/index.ts';

/** What a program of ours tells the `interlock dev` that started it, over its IPC channel. */
export type ChildMessage =
  | { readonly ready: 'control-plane'; readonly url: string }
  | {
      readonly ready: 'worker';
      readonly workerId: string;
      readonly handlers: readonly string[];
      readonly slots: number;
      readonly pools: readonly string[];
    }
  /** A handler host got its first task. */
  | { readonly host: number };

export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * A program of ours as a process of its own, in its own process group: a Ctrl-C in the terminal reaches `dev` only,
 * which ends its children in order. The channel to it is its life line: when `dev` is gone, however that came,
 * the child sees the channel close and ends (see `life-line.ts`).
 */
export class DevChild {
  readonly pid: number;
  readonly ended: Promise<ChildEnd>;
  readonly #child: ChildProcess;
  #over = false;

  constructor(options: {
    readonly program: HostCommand;
    readonly args: readonly string[];
    readonly cwd: string;
    readonly env: Readonly<Record<string, string | undefined>>;
    /** Each line of its log. */
    readonly onLine: (line: string) => void;
    readonly onMessage: (message: ChildMessage) => void;
  }) {
    const { execPath, args } = options.program;
    const child = spawn(execPath, [...args, ...options.args], {
      cwd: options.cwd,
      env: { ...childEnvironment(options.env), [LIFE_LINE]: '1' },
      detached: process.platform !== 'win32',
      windowsHide: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child = child;
    this.pid = child.pid ?? 0;
    this.ended = new Promise((resolve) => {
      const end = (found: ChildEnd) => {
        this.#over = true;
        resolve(found);
      };
      child.once('error', () => end({ code: null, signal: null }));
      child.once('close', (code, signal) => end({ code, signal }));
    });
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', options.onLine);
    }
    child.on('message', (message) => options.onMessage(message as ChildMessage));
  }

  get over(): boolean {
    return this.#over;
  }

  /** Asks it to end. Does nothing once it has. */
  signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    if (!this.#over) this.#child.kill(signal);
  }
}

/** @param tail the last lines of its log: an error that it ended with says more than its exit code. */
export function childDied(
  name: string,
  { code, signal }: ChildEnd,
  tail: readonly string[],
): TaskError {
  const how = signal ? `was ended by ${signal}` : `ended with ${code ?? 'no exit code'}`;
  const said = tail.map(errorOf).findLast((error) => error !== undefined);
  const last = said?.message ?? sentenceOf(tail.at(-1));
  return new TaskError('CHILD_DIED', `The ${name} ${how}${last ? `: ${last}` : '.'}`, {
    hint: said?.hint ?? 'See its lines above, then start again.',
  });
}

/** A line of a log, as a person reads it: of a record only what it says. */
function sentenceOf(line: string | undefined): string | undefined {
  try {
    const { msg } = JSON.parse(line ?? '') as { msg?: unknown };
    return typeof msg === 'string' ? msg : undefined;
  } catch {
    return line?.slice(0, 500);
  }
}

/** What a program of ours says last in JSON: `{"error": {"message", "hint"}}`. */
function errorOf(line: string): { message: string; hint?: string } | undefined {
  try {
    const { error } = JSON.parse(line) as { error?: { message?: unknown; hint?: unknown } };
    if (typeof error?.message !== 'string') return undefined;
    return { message: error.message, ...(typeof error.hint === 'string' && { hint: error.hint }) };
  } catch {
    return undefined;
  }
}

/** Tells a child that its IPC channel is a life line. */
const LIFE_LINE = 'INTERLOCK_LIFE_LINE';

/** Nothing of ours from the shell: what `dev` starts is told by flags and by its profile alone. */
function childEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('INTERLOCK_')));
}
