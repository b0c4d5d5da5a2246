/**
 * Who starts the workers of an executable, and can start them anew: one service of systemd each. Where nobody does there
 * is none of these, and a person restarts them.
 */
export interface Supervisor {
  /** For people: `interlock-worker.service`. */
  readonly name: string;
  /** The address of its status port; `undefined` where it has none, or none yet. */
  status(): Promise<string | undefined>;
  /**
   * Stops the worker (SIGTERM: it drains) and starts the executable that lies there now. Resolves when it has said that it
   * is ready, or with why not. Bounded: as long as the service may take to stop, and `readyWithinMs`.
   */
  restart(readyWithinMs: number): Promise<Verdict>;
  /** Whether it runs now, from what is in place (`identity` of that file, where the system tells). */
  running(identity: string | undefined): Promise<Verdict>;
  /** The end of its log, since it was started last; empty where it cannot be read. */
  lastLines(count: number): Promise<readonly string[]>;
}

export type Verdict = { readonly ok: true } | { readonly ok: false; readonly why: string };
