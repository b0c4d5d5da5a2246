import { readiness } from '../../core/readiness.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Worker, WorkerStatus } from '../../worker/worker.ts';

/** What `GET /status` answers, and `interlock worker status --json` prints. */
export interface StatusReport extends Omit<WorkerStatus, 'state'> {
  /** `starting`: it has not begun its loops. */
  readonly state: WorkerStatus['state'] | 'starting';
  readonly pid: number;
  readonly ready: boolean;
  /** Why not, as a sentence; absent while ready. */
  readonly notReady?: string;
  /** Why its loops count as standing still, as a sentence; absent while they turn. */
  readonly stalled?: string;
  /** By its wall clock, RFC 3339. */
  readonly now: string;
}

export type Told = Pick<Worker, 'status' | 'contact'>;

export function statusReport(worker: Told, clock: Clock, pid: number): StatusReport {
  const { ready, why, stalled } = readiness(worker.contact());
  return {
    ...worker.status(),
    pid,
    ready,
    ...(why === undefined ? {} : { notReady: why }),
    ...(stalled === undefined ? {} : { stalled }),
    now: new Date(clock.wall()).toISOString(),
  };
}
