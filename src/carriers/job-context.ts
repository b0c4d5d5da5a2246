/** What a job of the carrier `process` needs from its pool. */
import type { JobEnd } from '../ports/carrier.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Host } from './host.ts';
import type { JobRun } from './job-run.ts';
import type { NewProcesses } from './new-processes.ts';
import type { KernelKills } from './out-of-memory.ts';

export interface JobRunContext {
  readonly clock: Clock;
  readonly log: Log;
  /** A host takes a job within this. */
  readonly takeMs: number;
  /** Whether a host is not used again after such an end. */
  readonly spoils: (end: JobEnd) => boolean;
  readonly newProcesses: NewProcesses;
  readonly kernelKills: KernelKills;
  /** The job needs another host. */
  again(run: JobRun): void;
  /** The job waits no longer for a host. */
  leftQueue(run: JobRun): void;
  /** The host is free again (or retired); called before `ended` settles. */
  released(host: Host): void;
}
