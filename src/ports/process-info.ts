/**
 * Which process this is and whether another one still runs. Pids are used again, also across restarts of
 * a container, so a process is told by its pid together with its start time, boot and pid namespace.
 */
export interface ProcessInfo {
  readonly self: ProcessIdentity;
  /** A process of this host (and of this pid namespace). Never rejects. */
  look(pid: number): Promise<ProcessSight>;
}

export interface ProcessIdentity {
  readonly hostName: string;
  readonly pid: number;
  /** Opaque: compare for equality only. Absent where the system does not tell it cheaply. */
  readonly startTime?: string;
  /** The running kernel; a fresh one after each boot. Absent where the system does not tell it. */
  readonly bootId?: string;
  /** Processes of two namespaces do not see each other. Absent where there are none. */
  readonly pidNamespace?: string;
  /** Wall time of the boot, for people and for cautious comparisons only. */
  readonly bootedAtMs: number;
}

export interface ProcessSight {
  /** It runs or is stopped. One that has ended and was not yet reaped is not alive. */
  readonly alive: boolean;
  /** As in `ProcessIdentity`; absent where unknown. */
  readonly startTime?: string;
}
