import { spawn } from 'node:child_process';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';

/**
 * sd_notify(3), through systemd's own program: Node.js has no sockets of that kind. Messages leave in the order in which
 * they were said, one program at a time; nothing waits for them and nothing fails with them.
 */
export interface Notify {
  /** `READY=1`, `STATUS=…`. One message; waiting ones that only tell a status or feed the watchdog become one. */
  say(...words: readonly string[]): void;
  /** Resolves when all that was said is told, or cannot be. */
  told(): Promise<void>;
  /** How often systemd wants to hear `WATCHDOG=1`, at least; `undefined`: not at all. */
  readonly watchdogMs: number | undefined;
}

/** `undefined` where nobody listens: no `NOTIFY_SOCKET`. */
export function serviceNotify(from: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}): Notify | undefined {
  const { env, pid, clock, log } = from;
  // A path, or with "@" a name without a file; also vsock:… of a machine's host.
  if (!env.NOTIFY_SOCKET) return undefined;
  const queue: string[][] = [];
  let sending: Promise<void> | undefined;
  let deaf = false;
  let warned = false;

  const warn = (why: string) => {
    if (warned) return;
    warned = true;
    log.warn(
      'service.not-told',
      `The service manager could not be told how this worker is: ${why} The worker goes on.`,
    );
  };
  const send = (words: readonly string[]) =>
    new Promise<void>((resolve) => {
      const child = spawn('systemd-notify', words, {
        env: { PATH: env.PATH, NOTIFY_SOCKET: env.NOTIFY_SOCKET },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let said = '';
      child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
        if (said.length < SAID_CHARS) said += chunk;
      });
      const bound = clock.timer(BOUND_MS, () => child.kill('SIGKILL'));
      child.once('error', (error: NodeJS.ErrnoException) => {
        bound.cancel();
        // It will not come back while this process lives.
        deaf = error.code === 'ENOENT' || error.code === 'EACCES';
        warn(
          deaf
            ? `the program systemd-notify is not there (it comes with systemd); a unit of Type=notify and WatchdogSec= cannot do without.`
            : `${error.message}.`,
        );
        resolve();
      });
      child.once('close', (code) => {
        bound.cancel();
        if (code !== 0)
          warn(
            code === null
              ? 'systemd-notify did not end.'
              : `systemd-notify ended with ${code}: ${said.trim().slice(0, SAID_CHARS)}`,
          );
        resolve();
      });
    });
  const drain = async () => {
    for (let next = queue.shift(); next && !deaf; next = queue.shift()) await send(next);
    sending = undefined;
  };
  return {
    watchdogMs: watchdogOf(env, pid),
    say: (...words) => {
      if (deaf) return;
      const last = queue.at(-1);
      if (last && [...last, ...words].every(isRepeated)) {
        const names = words.map(nameOf);
        queue[queue.length - 1] = [
          ...last.filter((word) => !names.includes(nameOf(word))),
          ...words,
        ];
      } else queue.push([...words]);
      // Only where systemd hears nothing for minutes; what is newest matters.
      if (queue.length > WAITING) queue.shift();
      sending ??= drain();
    },
    told: async () => {
      while (sending) await sending;
    },
  };
}

/** sd_watchdog_enabled(3). A number that was meant for another process of the unit is not ours. */
function watchdogOf(
  env: Readonly<Record<string, string | undefined>>,
  pid: number,
): number | undefined {
  const { WATCHDOG_USEC: usec = '', WATCHDOG_PID: whose } = env;
  if (whose && Number(whose) !== pid) return undefined;
  return /^[1-9]\d{0,17}$/.test(usec) ? Number(usec) / 1_000 : undefined;
}

function nameOf(word: string): string {
  return word.slice(0, word.indexOf('='));
}

function isRepeated(word: string): boolean {
  return ['STATUS', 'WATCHDOG'].includes(nameOf(word));
}

/** systemd-notify itself waits 5 s for the manager to have read it. */
const BOUND_MS = 10_000;
const WAITING = 20;
const SAID_CHARS = 300;
