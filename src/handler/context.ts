import { setMaxListeners } from 'node:events';
import { format } from 'node:util';
import { cutText } from '../contract/errors.ts';
import { toJson } from '../contract/json.ts';
import { bounds, limits } from '../contract/limits.ts';
import { EffectRefusedError, StopError, type StopReason } from './errors.ts';
import { rooted } from './paths.ts';
import type { CallJob, LogLevel, ProgressUpdate } from './protocol.ts';

/** What a handler gets beside its input. Every method may be taken out (`const { log } = ctx`). */
export interface HandlerContext {
  readonly taskId: string;
  readonly attemptId: string;
  /** 1 for the first. */
  readonly attempt: number;
  readonly type: string;
  readonly schemaVersion: number;
  /** The same on every attempt: hand it on as an idempotency key. */
  readonly effectKey: string;
  /** Grows with each attempt: storage that compares it can refuse a writer from the past. */
  readonly fence: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The last checkpoint of an earlier attempt; `undefined` on the first. */
  readonly checkpoint: unknown;
  /** W3C trace context of the submitter. */
  readonly traceparent: string | undefined;
  /** Aborts when the handler has to stop; `signal.reason.code` is timeout, cancel, stale, lease or drain. */
  readonly signal: AbortSignal;
  /**
   * How far it is. `percent` 0–100; `checkpoint` (JSON, at most 64 KiB) is where the next attempt goes on.
   * Cheap: what comes too fast is passed over, the latest is always delivered.
   */
  progress(percent?: number | null, message?: string | null, checkpoint?: unknown): void;
  /** Lines for the task's log, formatted like `console.log`; `ctx.log(…)` is `ctx.log.info(…)`. */
  readonly log: HandlerLog;
  /**
   * For `effectGate: 'effect'`: resolves when the control plane has let this attempt make its effect, rejects
   * when it may not. Resolves at once on any other attempt. Call it right before the effect.
   */
  beginEffect(): Promise<void>;
}

export interface HandlerLog {
  (...parts: unknown[]): void;
  debug(...parts: unknown[]): void;
  info(...parts: unknown[]): void;
  warn(...parts: unknown[]): void;
  error(...parts: unknown[]): void;
}

/** Where a context sends what the handler says. */
export interface ContextDoor {
  progress(update: ProgressUpdate): void;
  log(level: LogLevel, text: string): void;
  effectRequested(): void;
}

/** The context and the strings that move it. */
export class ContextControl {
  readonly context: HandlerContext;
  readonly #abort = new AbortController();
  readonly #door: ContextDoor;
  #gate: { promise: Promise<void>; open(): void; refuse(why: Error): void } | undefined;
  #checkpointTold = false;

  constructor(job: CallJob, door: ContextDoor) {
    this.#door = door;
    const { signal } = this.#abort;
    // A handler may listen as often as it likes, without a warning about leaks.
    setMaxListeners(0, signal);
    const line =
      (level: LogLevel) =>
      (...parts: unknown[]) =>
        this.#log(level, parts);
    const log = Object.assign(line('info'), {
      debug: line('debug'),
      info: line('info'),
      warn: line('warn'),
      error: line('error'),
    });
    this.context = Object.freeze({
      taskId: job.taskId,
      attemptId: job.attemptId,
      attempt: job.attempt,
      type: job.type,
      schemaVersion: job.schemaVersion,
      effectKey: job.effectKey,
      fence: job.fence,
      labels: Object.freeze({ ...job.labels }),
      checkpoint: job.checkpoint,
      traceparent: job.traceparent,
      signal,
      progress: (percent, message, checkpoint) => this.#progress(percent, message, checkpoint),
      log: Object.freeze(log),
      beginEffect: () => this.#beginEffect(job.effectGate),
    } satisfies HandlerContext);
  }

  get stopped(): boolean {
    return this.#abort.signal.aborted;
  }

  /** The first reason wins. */
  abort(reason: StopReason): void {
    if (this.stopped) return;
    const error = new StopError(reason);
    this.#gate?.refuse(error);
    this.#abort.abort(error);
  }

  openGate(): void {
    this.#gate?.open();
  }

  refuseGate(why: string): void {
    this.#gate?.refuse(new EffectRefusedError(why));
  }

  #beginEffect(effectGate: string): Promise<void> {
    if (this.#gate) return this.#gate.promise;
    if (this.stopped) return Promise.reject(this.#abort.signal.reason);
    if (effectGate !== 'effect') return Promise.resolve();
    let open = () => {};
    let refuse = (_why: Error) => {};
    const promise = new Promise<void>((resolve, reject) => {
      open = resolve;
      refuse = reject;
    });
    // A handler that does not wait for its gate is not brought down by a refusal.
    promise.catch(() => {});
    this.#gate = { promise, open, refuse };
    this.#door.effectRequested();
    return promise;
  }

  #progress(percent: unknown, message: unknown, checkpoint: unknown): void {
    const update: { -readonly [K in keyof ProgressUpdate]: ProgressUpdate[K] } = {};
    if (typeof percent === 'number' && !Number.isNaN(percent)) {
      update.percent = Math.min(100, Math.max(0, percent));
    }
    if (message !== undefined && message !== null) {
      update.message = cutText(String(message), bounds.messageChars);
    }
    if (checkpoint !== undefined) {
      const kept = this.#checkpoint(checkpoint);
      if (kept !== undefined) update.checkpoint = kept.value;
    }
    this.#door.progress(update);
  }

  /** One that cannot be kept is told once in the task's log; the one before it stays. */
  #checkpoint(checkpoint: unknown): { value: unknown } | undefined {
    const made = toJson(checkpoint);
    const bytes = made.ok ? Buffer.byteLength(JSON.stringify(made.value)) : 0;
    if (made.ok && bytes <= limits.checkpointBytes) return { value: made.value };
    if (!this.#checkpointTold) {
      this.#checkpointTold = true;
      const why = made.ok
        ? `it has ${bytes} bytes, at most ${limits.checkpointBytes} are kept`
        : `${rooted('checkpoint', made.issue.path)} ${made.issue.message}`;
      this.#door.log('error', `A checkpoint was not kept, the one before it stays: ${why}.`);
    }
    return undefined;
  }

  #log(level: LogLevel, parts: unknown[]): void {
    let text: string;
    try {
      text = format(...parts);
    } catch (error) {
      text = `(a log line that could not be formatted: ${error instanceof Error ? error.message : typeof error})`;
    }
    this.#door.log(level, cutText(text, limits.logLineBytes));
  }
}
