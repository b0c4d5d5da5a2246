/** What crosses between the user's thread and the agent's, beside the jobs (`carriers/thread-words.ts`). */
import type { MessagePort } from 'node:worker_threads';
import { TaskError } from '../contract/errors.ts';
import type { LogFields, LogLevel } from '../ports/log.ts';
import type { ProxySettings } from '../wire/proxy.ts';
import type { WorkerEnd as LoopsEnd, ServedHandler, WorkerStatus } from '../worker/worker.ts';

export interface WorkerEnd extends Omit<LoopsEnd, 'why'> {
  /**
   * As of the loops, and `agent-died`: the thread that claims, renews and reports has ended by a fault of its own, such
   * as no memory; `detail` tells which. What it had written stays in the spool for the next start. `draining`: not the end
   * yet; told by a `drain()` that a handler of the same worker called, since the end waits for that handler.
   */
  readonly why: LoopsEnd['why'] | 'agent-died' | 'draining';
}

/** All that the agent needs to know at its start: plain data, the user's thread has read environment and options. */
export interface AgentSettings {
  readonly serviceUrl: string;
  readonly key: string;
  readonly insecureHttp?: boolean | undefined;
  readonly caFile?: string | undefined;
  readonly proxy: ProxySettings;
  readonly spool: string;
  readonly workerId: string;
  readonly sessionId: string;
  readonly pools: readonly string[];
  readonly maxConcurrent: number;
  readonly handlers: readonly ServedHandler[];
  readonly drainTimeoutMs: number;
  readonly stopGraceMs: number;
  readonly pollMaxMs: number;
  /** The user has a log: lines go there. Else the agent writes warnings and errors to stderr itself. */
  readonly logged: boolean;
}

/** `workerData`. */
export interface AgentData {
  /** Both sides have to be of the same package. */
  readonly version: string;
  readonly settings: AgentSettings;
  readonly ports: {
    readonly words: MessagePort;
    readonly jobs: MessagePort;
    readonly status: MessagePort;
  };
  /** How many questions for the status have been answered: the asking thread waits for it to rise. */
  readonly answered: SharedArrayBuffer;
  /** See `BegunCount`. */
  readonly begun: SharedArrayBuffer;
}

/** User's thread → agent. */
export type ToAgent =
  | { readonly t: 'drain' }
  /** `answer` to the question of that number; without it the source has changed by itself. No `key`: it could not be read. */
  | { readonly t: 'key'; readonly key?: string | undefined; readonly answer?: number }
  /** So many lines of the log have been taken. */
  | { readonly t: 'logged'; readonly lines: number };

/** Agent → user's thread. */
export type FromAgent =
  /** The worker is there; it has not said hello yet. */
  | { readonly t: 'up'; readonly status: WorkerStatus }
  | { readonly t: 'started' }
  | { readonly t: 'failed'; readonly error: ToldError }
  /** `left`: handlers would not go and run on; `gone` follows when they have ended. */
  | {
      readonly t: 'ended';
      readonly end: LoopsEnd;
      readonly status: WorkerStatus;
      readonly left?: true;
    }
  | { readonly t: 'gone'; readonly status: WorkerStatus }
  /** Look at the key's source again. */
  | { readonly t: 'reload'; readonly n: number }
  | {
      readonly t: 'log';
      readonly level: LogLevel;
      readonly event: string;
      readonly text: string;
      readonly fields?: LogFields | undefined;
    };

/** An error as data: classes do not cross. */
export interface ToldError {
  /** `undefined`: no `TaskError`, so a bug; `stack` says where. */
  readonly code?: string;
  readonly message: string;
  readonly retryable?: boolean;
  readonly hint?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly stack?: string | undefined;
  /** What the system said below it. */
  readonly cause?: { readonly message: string; readonly code?: string | undefined };
}

export function tellError(error: unknown): ToldError {
  if (!(error instanceof TaskError)) {
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    return { message, stack };
  }
  const { code, message, retryable, hint, details, cause } = error;
  return {
    code,
    message,
    retryable,
    hint,
    // JSON: whatever else it holds could not cross.
    details: details && JSON.parse(JSON.stringify(details)),
    ...(cause instanceof Error
      ? { cause: { message: cause.message, code: (cause as NodeJS.ErrnoException).code } }
      : {}),
  };
}

export function toldError(told: ToldError): Error {
  const { code, message, retryable = false, hint, details, stack } = told;
  if (code === undefined)
    return Object.assign(new Error(message), stack === undefined ? {} : { stack });
  const cause =
    told.cause && Object.assign(new Error(told.cause.message), { code: told.cause.code });
  return new TaskError(code, message, { retryable, hint, details, cause });
}
