/** Starts the child process of a host. What cannot be started is a value with a sentence, never a throw. */
import { type ChildProcess, type IOType, spawn } from 'node:child_process';
import type { Duplex, Readable } from 'node:stream';
import {
  CACHE_VARIABLE,
  type HostRole,
  ID_VARIABLE,
  MARKER_VARIABLE,
  NODE_CACHE_VARIABLE,
  ROLE_VARIABLE,
} from '../handler/protocol.ts';

/** How our own program is started as a host: the pinned Node and `host.js`, or a standalone executable. */
export interface HostCommand {
  readonly execPath: string;
  readonly args: readonly string[];
}

export interface SpawnOptions {
  readonly command: HostCommand;
  readonly role: HostRole;
  /** The agent's environment; keys and our own variables are taken out of it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Tells whose host it is; inherited by all that it starts. No secret. */
  readonly marker: string;
  /** Tells which host it is; inherited too. No other host ever has it. */
  readonly id: string;
  /** Descriptor of the flight recorder; absent: it has none. */
  readonly recorder?: number | undefined;
  /** Default: the agent's. */
  readonly cwd?: string | undefined;
  /** Folder (of this user alone) where hosts keep compiled code: they start faster and need less memory. */
  readonly compileCache?: string | undefined;
}

export interface SpawnedHost {
  /** Leads a process group of its own number. */
  readonly pid: number;
  readonly child: ChildProcess;
  readonly toHost: Duplex;
  readonly fromHost: Readable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

export type SpawnResult =
  | { readonly ok: true; readonly host: SpawnedHost }
  /** Why it could not be started, as a sentence. */
  | { readonly ok: false; readonly message: string };

export async function spawnHost(options: SpawnOptions): Promise<SpawnResult> {
  const { execPath, args } = options.command;
  try {
    const child = spawn(execPath, args, {
      cwd: options.cwd,
      env: hostEnvironment(options),
      // A group of its own: it is ended whole, and a Ctrl-C in the terminal is the agent's alone.
      detached: process.platform !== 'win32',
      windowsHide: true,
      // After the usual three the channel (CHANNEL_FD), and RECORDER_FD.
      stdio: [...STDIO, ...(options.recorder === undefined ? [] : [options.recorder])],
    });
    const failure = new Promise<Error>((resolve) => child.on('error', resolve));
    if (child.pid === undefined) throw await failure;
    const [, stdout, stderr, toHost, fromHost] = child.stdio as unknown as Pipes;
    return { ok: true, host: { pid: child.pid, child, toHost, fromHost, stdout, stderr } };
  } catch (error) {
    return { ok: false, message: inWords(execPath, error as NodeJS.ErrnoException) };
  }
}

const STDIO: readonly IOType[] = ['ignore', 'pipe', 'pipe', 'overlapped', 'overlapped'];

type Pipes = [null, Readable, Readable, Duplex, Readable];

/** Keys, and what a service manager has said to the agent alone: where it is heard, and where the key lies. */
const NOT_FOR_HANDLERS =
  /^(INTERLOCK_\w*KEY|NODE_CHANNEL_|NOTIFY_SOCKET$|WATCHDOG_(USEC|PID)$|CREDENTIALS_DIRECTORY$|LISTEN_(PID|FDS|FDNAMES)$)/i;

/** The agent's environment without keys, and with what a host has to know. */
export function hostEnvironment(
  options: Pick<SpawnOptions, 'env' | 'role' | 'marker' | 'id' | 'compileCache'>,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.env)) {
    if (value === undefined || NOT_FOR_HANDLERS.test(name)) continue;
    env[name] = value;
  }
  env[ROLE_VARIABLE] = options.role;
  env[MARKER_VARIABLE] = options.marker;
  env[ID_VARIABLE] = options.id;
  // A folder that the user has chosen stays.
  if (options.compileCache !== undefined && env[NODE_CACHE_VARIABLE] === undefined) {
    env[NODE_CACHE_VARIABLE] = options.compileCache;
    env[CACHE_VARIABLE] = '1';
  }
  return env;
}

function inWords(execPath: string, error: NodeJS.ErrnoException): string {
  const why = (error.code && reasons[error.code]) || error.message;
  return `No process could be started for the handler (${execPath}): ${why}`;
}

const reasons: Record<string, string> = {
  ENOENT:
    'there is no such program, the working folder is gone, or there is no /dev/null. Install the worker again.',
  EACCES: 'it may not be executed. Check its permissions and the mount options of its disk.',
  EMFILE: 'this process has too many files open. Raise its limit (ulimit -n, LimitNOFILE).',
  ENFILE: 'the machine has too many files open. Raise fs.file-max or end what holds them.',
  EAGAIN: 'there may be no more processes. Raise the limit (ulimit -u, TasksMax) or end some.',
  ENOMEM: 'there is no memory for it. Run fewer handlers at once (--max-concurrent).',
};
