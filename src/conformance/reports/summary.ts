import type { Outcome, Verdict } from '../case.ts';

/** What a run is told with, whatever the form. */
export interface RunFacts {
  readonly kit: 'control-plane' | 'worker';
  /** The peer: an address, or a command. Without keys. */
  readonly target: string;
  /** Of the kit. */
  readonly version: string;
  /** RFC 3339, UTC. */
  readonly startedAt: string;
  readonly ms: number;
}

export function count(verdicts: readonly Verdict[], outcome: Outcome): number {
  return verdicts.filter((verdict) => verdict.outcome === outcome).length;
}
