/**
 * The errors that a handler throws to say more than "it failed". They are known by a brand, not by their
 * class: the package may be there twice (ours, and the one in the user's node_modules).
 */

/** On the prototype of our errors; its value says which. */
export const ERROR_BRAND = Symbol.for('interlock.handler-error');

export interface HandlerErrorOptions {
  /** Your own code, `[A-Z][A-Z0-9_]*`; default `HANDLER_ERROR` (`OUTCOME_UNKNOWN` for unknown outcomes). */
  readonly code?: string;
  /** Further facts as JSON, at most 16 KiB. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** It failed now and may work later: the task is queued again while attempts and time are left. */
export class RetryableError extends Error {
  readonly code: string;
  /** Lower bound of the delay before the next attempt, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(
    message: string,
    options: HandlerErrorOptions & { readonly retryAfterMs?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RetryableError';
    this.code = options.code ?? 'HANDLER_ERROR';
    this.retryAfterMs = options.retryAfterMs;
    this.details = options.details;
  }
}

/**
 * This host cannot do it now, whatever the task: a dead card, no memory, a program that is missing. Like
 * `RetryableError`; besides, a worker whose handlers fail so again and again leaves the type alone for a while.
 */
export class HostError extends RetryableError {
  constructor(
    message: string,
    options: Omit<HandlerErrorOptions, 'code'> & {
      /** Default `HOST_UNHEALTHY`. */
      readonly code?: `HOST_${string}`;
      readonly retryAfterMs?: number;
    } = {},
  ) {
    super(message, { ...options, code: options.code ?? 'HOST_UNHEALTHY' });
    this.name = 'HostError';
  }
}

/** It is not known whether the effect took place. Nobody repeats it; an operator looks and resolves it. */
export class UnknownOutcomeError extends Error {
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(message: string, options: HandlerErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'UnknownOutcomeError';
    this.code = options.code ?? 'OUTCOME_UNKNOWN';
    this.details = options.details;
  }
}

/** `ctx.beginEffect()` was refused: the effect may not be made, and was not. */
export class EffectRefusedError extends RetryableError {
  constructor(why: string) {
    super(why, { code: 'EFFECT_NOT_BEGUN' });
    this.name = 'EffectRefusedError';
  }
}

/** Why a handler is stopped; found in `ctx.signal.reason.code`. */
export type StopReason = 'timeout' | 'cancel' | 'stale' | 'lease' | 'drain';

/** `ctx.signal.reason`. Throw it (`ctx.signal.throwIfAborted()`) to say: I obeyed. */
export class StopError extends Error {
  readonly code: StopReason;

  constructor(reason: StopReason) {
    super(stopSentences[reason] ?? `The handler is stopped (${reason}).`);
    this.name = 'StopError';
    this.code = reason;
  }
}

const stopSentences: Record<StopReason, string> = {
  timeout: 'The handler is stopped: its time is up.',
  cancel: 'The handler is stopped: the task was cancelled.',
  stale: 'The handler is stopped: the attempt was given to somebody else.',
  lease: 'The handler is stopped: the lease ran out and another worker may run the task.',
  drain: 'The handler is stopped: the worker is going down.',
};

export type ErrorBrand = 'retryable' | 'unknown' | 'effect-refused' | 'stop';

for (const [kind, brand] of [
  [RetryableError, 'retryable'],
  [UnknownOutcomeError, 'unknown'],
  [EffectRefusedError, 'effect-refused'],
  [StopError, 'stop'],
] as const) {
  Object.defineProperty(kind.prototype, ERROR_BRAND, { value: brand satisfies ErrorBrand });
}
