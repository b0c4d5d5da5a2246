import { spawn } from 'node:child_process';
import type { Clock } from '../../ports/clock.ts';

/** How a program ended. Never rejects. */
export interface ProgramEnd {
  /** `undefined` where it did not start, or was ended by a signal. */
  readonly code: number | undefined;
  readonly signal: string | undefined;
  /** The system's code where it did not start: `ENOENT`, `EACCES`, `ENOEXEC`, `ETXTBSY`. */
  readonly failed: string | undefined;
  /** It took longer than it may and was killed. */
  readonly late: boolean;
  readonly out: string;
  readonly err: string;
}

export type RunProgram = (
  file: string,
  args: readonly string[],
  options: { readonly limitMs: number; readonly env: Readonly<Record<string, string | undefined>> },
) => Promise<ProgramEnd>;

/** Other programs of this machine, with what they print. Nothing comes in by their stdin. */
export function systemPrograms(clock: Clock): RunProgram {
  return (file, args, { limitMs, env }) =>
    new Promise((resolve) => {
      const started = spawnSafely(file, args, env);
      if ('failed' in started) return resolve(ended({ failed: started.failed }));
      const { child } = started;
      let late = false;
      const timer = clock.timer(limitMs, () => {
        late = true;
        child.kill('SIGKILL');
        // A grandchild may hold the pipes open.
        child.stdout.destroy();
        child.stderr.destroy();
      });
      const out = collected(child.stdout);
      const err = collected(child.stderr);
      child.on('error', (error: NodeJS.ErrnoException) => {
        timer.cancel();
        resolve(ended({ failed: error.code ?? error.message }));
      });
      child.on('close', (code, signal) => {
        timer.cancel();
        resolve(
          ended({
            code: code ?? undefined,
            signal: signal ?? undefined,
            late,
            out: out(),
            err: err(),
          }),
        );
      });
    });
}

function spawnSafely(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
) {
  try {
    return {
      child: spawn(file, [...args], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...env },
        // Not of our terminal: when that goes away, a restart that was begun goes on.
        detached: process.platform !== 'win32',
        windowsHide: true,
      }),
    };
  } catch (error) {
    // Some reasons are thrown and not told by an event.
    const { code, message } = error as NodeJS.ErrnoException;
    return { failed: code ?? message };
  }
}

/** The end of what comes: errors stand there. */
function collected(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (piece: string) => {
    text = (text + piece).slice(-TEXT_MAX);
  });
  return () => text;
}

function ended(some: Partial<ProgramEnd>): ProgramEnd {
  return {
    code: undefined,
    signal: undefined,
    failed: undefined,
    late: false,
    out: '',
    err: '',
    ...some,
  };
}

const TEXT_MAX = 65_536;
