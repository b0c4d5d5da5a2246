/** Whose project a worker is of: that of the run's keys, or the other one. */
export type Side = 'worker' | 'other-worker';

/**
 * Names of workers, used again by one case after the other: a control plane shows each worker that it ever heard of for
 * long, and a run with fresh names for each case would bury those that are real. A case takes a name with a session of
 * its own, which supersedes whoever had it before.
 */
export class WorkerIds {
  readonly #run: string;
  readonly #free: Record<Side, string[]> = { worker: [], 'other-worker': [] };
  #made = 0;

  constructor(run: string) {
    this.#run = run;
  }

  /** A name that no other case holds. */
  take(side: Side): string {
    return this.#free[side].pop() ?? `conformance-${this.#run}-${side}-${++this.#made}`;
  }

  /** Only of a worker that was told offline with the key of its side: the next one may speak for it at once. */
  giveBack(side: Side, workerId: string): void {
    this.#free[side].push(workerId);
  }
}
