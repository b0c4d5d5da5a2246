import type { EffectGate, EffectSafety, TaskFailure } from '../contract/index.ts';

/**
 * A way to run one handler call: a child process, an executable, or inline. A carrier knows nothing of
 * leases, reports or the control plane.
 *
 * Promises: `start` returns at once and never throws; `ended` settles exactly once, always, and never
 * rejects; it settles only when nothing of the handler runs any more (for processes: the whole process
 * group is gone, and on Linux what left it), so a slot that waits for it is really free. `stop` may be called any
 * number of times; the first reason wins. No listener is called after `ended` has settled.
 */
export interface Carrier {
  /**
   * Handlers run inside this very program: they cannot be killed, and one that will not stop outlives its worker's drain.
   * Absent: they have processes of their own.
   */
  readonly inProgram?: true;
  start(job: Job, listener: JobListener): RunningJob;
  /** Ends what is warm and idle; running jobs are not touched. Twice is fine. */
  close(): Promise<void>;
}

/** What a handler call gets. JSON all through: it crosses a process boundary. */
export interface Job {
  readonly taskId: string;
  readonly attemptId: string;
  readonly attempt: number;
  /** By its task's policy none comes after it; absent: more may. */
  readonly lastPermitted?: true;
  readonly fence: number;
  readonly type: string;
  readonly schemaVersion: number;
  readonly effectKey: string;
  readonly effectSafety: EffectSafety;
  readonly effectGate: EffectGate;
  readonly labels: Readonly<Record<string, string>>;
  readonly input: unknown;
  readonly checkpoint?: unknown;
  readonly traceparent?: string;
  /** File of the handler (carrier `process`); absent for `inline`, which looks it up by type and version. */
  readonly file?: string;
  /** It may share its host with other jobs of the same file and code; absent: it has one of its own. */
  readonly sharesHost?: true;
  /** Which code of that file; absent: what lies there when a host loads it. */
  readonly code?: HandlerCode;
}

/** Code of a handler that stays the same, whatever becomes of its file. */
export interface HandlerCode {
  /** Jobs of the same id may share a host. */
  readonly id: string;
  /** Where it is kept; absent: a host loads the file as it is then. */
  readonly kept?: string;
}

export interface JobListener {
  /**
   * The job is about to be given to its handler, on this host; again where another host has to take it. What resolves
   * when that is written down is waited for by carriers whose handlers can end this very program. Left out of a short job
   * among others in its host (`core/jobs-ahead`): `begun` says it. Never rejects.
   */
  giving?(host?: string): Promise<void>;
  /**
   * The handler gets its input (its host has taken the job): from here on "it began" is true. At most once.
   * @param agoMs since then, where it is told later [0]: short jobs say it with their end.
   */
  begun(agoMs?: number): void;
  /** `ctx.progress`. Latest wins: a slow reader may skip older ones. */
  progress(update: ProgressUpdate): void;
  /** Lines for the task's log: from `ctx.log` and from stdout and stderr. Bounded by the carrier. */
  log(lines: readonly LogLine[]): void;
  /** `ctx.beginEffect()` of an effect gate. Answered by `openGate` or `refuseGate`. At most once. */
  effectRequested(): void;
  /** Its processes were killed and do not go: it has not ended, whatever it said. */
  stuck?(): void;
}

export interface ProgressUpdate {
  readonly percent?: number;
  readonly message?: string;
  readonly checkpoint?: unknown;
}

export interface LogLine {
  /** RFC 3339 UTC. */
  readonly at: string;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly text: string;
}

/** Why a handler is stopped. The handler finds it in `ctx.signal.reason.code`. */
export type StopReason = 'timeout' | 'cancel' | 'stale' | 'lease' | 'drain';

export interface RunningJob {
  /** Resolves `ctx.beginEffect()`. */
  openGate(): void;
  /** Rejects `ctx.beginEffect()` with this sentence. */
  refuseGate(why: string): void;
  /** Aborts `ctx.signal`, waits `graceMs`, then kills (process group, SIGKILL). `graceMs` 0 kills now. */
  stop(reason: StopReason, graceMs: number): void;
  readonly ended: Promise<JobEnd>;
  /** Process id of the host, for people; `undefined` for inline or before the host is up. */
  readonly pid?: number;
  /** It waits in a host that one of the jobs there holds up; see `host.held-up` in the log. */
  readonly heldUp?: boolean;
  /** The host, by what is found in the environment of its processes (see `OldHosts`); `undefined` like `pid`. */
  readonly host?: string;
}

/** How a handler call ended: what it said itself, or how it was seen to go. */
export type JobEnd =
  /** It returned; `result` is the JSON value (already normalised: see contract `toJson`). */
  | { readonly how: 'returned'; readonly result: unknown }
  /** It threw, or its result was invalid (`RESULT_INVALID`), or its input was (`INPUT_INVALID`). */
  | {
      readonly how: 'threw';
      readonly error: TaskFailure;
      /** The handler itself was never called, as its host knows; absent: it may have done anything. */
      readonly begun?: false;
    }
  /** It threw `UnknownOutcomeError`. */
  | { readonly how: 'unknown'; readonly error: TaskFailure }
  /** It obeyed the stop: it threw after `ctx.signal` aborted, without another opinion. */
  | { readonly how: 'stopped' }
  /** It had to be killed after the grace. */
  | { readonly how: 'killed' }
  /** The host went away by itself: `process.exit`, a signal, out of memory. */
  | {
      readonly how: 'died';
      readonly exitCode?: number;
      readonly signal?: string;
      readonly outOfMemory?: boolean;
      /** Why it went, as sentences for people, where more is known than its exit code: another job in it ended it. */
      readonly why?: string;
      /** The tail of stderr, cut, where it helps to understand. */
      readonly detail?: string;
    }
  /** It never began: no host could be started, or the module could not be loaded there. */
  | { readonly how: 'not-begun'; readonly error: TaskFailure };
