import { spawn } from 'node:child_process';
import type { Clock } from '../../ports/clock.ts';

/** How a program of the system has ended; `undefined`: there is none of that name. */
export interface ProgramEnd {
  /** `null`: by a signal, its bound of time included. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs programs of the system: `systemctl`, `journalctl`, `launchctl`, `schtasks`, `id`. Never rejects. */
export type RunProgram = (
  argv: readonly string[],
  how?: {
    /** Default: a minute. `Infinity` for what follows a log. */
    readonly boundMs?: number;
    /** Gets its stdout as it comes; then nothing of it is kept. */
    readonly onOut?: (chunk: string) => void;
  },
) => Promise<ProgramEnd | undefined>;

export function systemPrograms(
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): RunProgram {
  return ([program = '', ...args], { boundMs = BOUND_MS, onOut } = {}) =>
    new Promise((resolve) => {
      const child = spawn(program, args, {
        env: { ...env, LC_ALL: 'C.UTF-8', SYSTEMD_PAGER: '' },
        stdio: ['ignore', 'pipe', 'pipe'],
        windowsHide: true,
      });
      let out = '';
      let err = '';
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
        if (onOut) onOut(chunk);
        else if (out.length < KEPT_CHARS) out += chunk;
      });
      child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
        if (err.length < KEPT_CHARS) err += chunk;
      });
      const bound = Number.isFinite(boundMs)
        ? clock.timer(boundMs, () => child.kill('SIGKILL'))
        : undefined;
      child.once('error', () => {
        bound?.cancel();
        resolve(undefined);
      });
      child.once('close', (code) => {
        bound?.cancel();
        resolve({ code, out, err });
      });
    });
}

/** Managers answer at once; what waits for a worker has a bound of its own. */
const BOUND_MS = 60_000;
/** Of each stream. What we read is a few lines. */
const KEPT_CHARS = 1_048_576;
