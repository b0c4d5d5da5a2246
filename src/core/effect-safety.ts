import type { EffectGate, EffectSafety, TaskErrorView } from '../contract/index.ts';

/**
 * The effect-safety table (contract 4), as a table. Rows: what happened. Columns: `before` (pure,
 * idempotent, or non-idempotent before its gate) and `past` (non-idempotent past its gate).
 */
export type Happened =
  /** The handler returned a valid result. */
  | 'result'
  /** The handler's own retryable failure. */
  | 'retryable-failure'
  /** The handler says unknown. */
  | 'unknown'
  /** Any other exception; result invalid or refused. */
  | 'failure'
  /** Lease lost, worker or host died, or the worker stopped it. */
  | 'no-word'
  /** It obeyed a stop for a cancel or a passed deadline. */
  | 'obeyed'
  | 'released';

export type Consequence =
  | 'succeeded'
  | 'outcome-unknown'
  | 'failed'
  /** Queued again if attempts and time are left, else failed or expired; cancelled if a cancel is requested. */
  | 'again'
  /** Queued again without using up an attempt; cancelled if a cancel is requested. */
  | 'again-undelivered'
  /** Cancelled, or expired where only the deadline asked for the stop. */
  | 'cancelled'
  | 'not-releasable';

export const effectSafetyTable: Readonly<
  Record<Happened, { readonly before: Consequence; readonly past: Consequence }>
> = {
  result: { before: 'succeeded', past: 'succeeded' },
  'retryable-failure': { before: 'again', past: 'failed' },
  unknown: { before: 'outcome-unknown', past: 'outcome-unknown' },
  failure: { before: 'failed', past: 'failed' },
  'no-word': { before: 'again', past: 'outcome-unknown' },
  obeyed: { before: 'cancelled', past: 'outcome-unknown' },
  released: { before: 'again-undelivered', past: 'not-releasable' },
};

export interface Gate {
  readonly effectSafety: EffectSafety;
  readonly effectGate: EffectGate;
  readonly startAccepted: boolean;
  readonly effectAccepted: boolean;
}

/** Whether a non-idempotent attempt is past its point of no return. Nothing else is the gate. */
export function gatePassed(gate: Gate): boolean {
  if (gate.effectSafety !== 'non-idempotent') return false;
  return gate.effectGate === 'start'
    ? gate.startAccepted || gate.effectAccepted
    : gate.effectAccepted;
}

/**
 * An effect may have taken place, and nobody has resolved since whether it has. An accepted retry keeps such an error with the
 * task, and what the attempts after it end with says the same: a later one that did nothing says nothing about an earlier one.
 */
export function effectMayBe(error: TaskErrorView | undefined): boolean {
  return error?.effect === 'begun';
}

/** @param past see `gatePassed`, and `notCalled`, which puts an end on the side `before`. */
export function consequence(happened: Happened, past: boolean): Consequence {
  const row = effectSafetyTable[happened];
  return past ? row.past : row.before;
}

/**
 * Whether a report's `begun: false` is believed: then the handler was never called, and the gate stands for no effect. `effect` and
 * `progress` come from handlers alone, so one that was accepted speaks against it; log lines do not, for a module
 * that is loaded may print.
 */
export function notCalled(
  attempt: { readonly effectAccepted: boolean; readonly progressN: number },
  begun: boolean | undefined,
): boolean {
  return begun === false && !attempt.effectAccepted && attempt.progressN === 0;
}
