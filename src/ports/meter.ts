/**
 * Counts what the worker does, for whoever reads its numbers. Called from hot paths: it only adds, never throws and never
 * waits. What is a state (slots, spool, leases) is no count: that is asked for when it is read.
 */
export interface Meter {
  /** A claim has ended; `granted` brought attempts. */
  claim(outcome: ClaimOutcome): void;
  /** One attempt's renewal has ended. */
  renewal(result: RenewalResult): void;
  /** A terminal report was sent once; `result`: `accepted`, `stale`, `refused`, or why it is kept. */
  report(op: string, result: string): void;
  /** It is known what became of an attempt. @param type as `typeKey` writes it. */
  attempt(type: string, outcome: string): void;
  /** A handler that had begun has ended, however. */
  handler(type: string, ms: number): void;
  /** A lease has run out before it could be renewed. */
  leaseLost(): void;
}

export type ClaimOutcome = 'granted' | 'empty' | 'refused' | 'no-answer';
export type RenewalResult = 'ok' | 'stale' | 'expired' | 'refused' | 'no-answer';

/** Where nobody reads them. */
export const noMeter: Meter = {
  claim() {},
  renewal() {},
  report() {},
  attempt() {},
  handler() {},
  leaseLost() {},
};
