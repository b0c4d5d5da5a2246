/**
 * Handler processes of earlier sessions of a worker, as its next process found and ended them. Nothing of an attempt may be
 * reported while a process of it runs.
 */
export interface OldHosts {
  /** Hosts that still ran and were ended, by their ids (see `RunningJob.host`). */
  readonly ended: readonly string[];
  /** What did not go in time although it was killed: it hangs in the kernel. */
  readonly left: readonly LeftProcess[];
  /** Looks again, and kills again what is found. Never rejects. */
  look(): Promise<readonly LeftProcess[]>;
}

export interface LeftProcess {
  readonly pid: number;
  /** The host that it belongs to; absent where that cannot be seen. */
  readonly host?: string;
}

export const noOldHosts: OldHosts = { ended: [], left: [], look: async () => [] };
