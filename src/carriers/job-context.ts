/** What a job of the carrier `process` needs from its pool. */
import type { CallTimes } from '../core/jobs-ahead.ts';
import type { Job, JobEnd } from '../ports/carrier.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { CallEnds } from './call-ends.ts';
import type { Host } from './host.ts';
import type { HostJobs } from './host-jobs.ts';
import type { JobRun } from './job-run.ts';
import type { NewProcesses } from './new-processes.ts';
import type { KernelKills } from './out-of-memory.ts';
import type { SameWait } from './same-wait.ts';

export interface JobRunContext {
  readonly clock: Clock;
  readonly log: Log;
  /** Jobs that were given to a host and not taken yet; told (`takeLate`) where that takes too long. */
  readonly taking: SameWait<JobRun>;
  /** A used host that has not taken a job for so long is ended. */
  readonly takeMs: number;
  /** Hosts with short jobs; told (`look`) where the first may be slow. */
  readonly slow: SameWait<HostJobs>;
  /** The same, later: where it is known that it is. */
  readonly held: SameWait<HostJobs>;
  /** How long calls of this job's handler take. */
  readonly times: (job: Job) => Pick<CallTimes, 'add' | 'apart' | 'shortMs'>;
  /** Whether a host is not used again after such an end. */
  readonly spoils: (end: JobEnd) => boolean;
  readonly newProcesses: NewProcesses;
  readonly ends: CallEnds;
  readonly kernelKills: KernelKills;
  /** The job needs another host. */
  again(run: JobRun): void;
  /** The job waits no longer for a host. */
  leftQueue(run: JobRun): void;
  /** The host is free again (or retired); called before `ended` settles. */
  released(host: Host): void;
}
