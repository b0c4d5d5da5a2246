import { leasesOf } from '../leases-told.ts';
import type { Finished } from '../simulation.ts';
import type { Checker } from './index.ts';

/** A timer of the worker, and what it does then. */
const SLACK_MS = 300;

export const leaseOver: Checker = {
  name: 'lease-over',
  rule: 'a handler that another worker may now run is stopped when its lease is over, counted from the send of what renewed it',
  check: (finished) => {
    const { history, rates } = finished;
    const leases = leasesOf(finished);
    // Of the longest lease.
    const drift = rates.drift * 30_000;
    return history.jobs.flatMap((job) => {
      const pastItsGate = job.effectSafety === 'non-idempotent' && job.effectGate === 'start';
      if (job.effectSafety === 'pure' || pastItsGate) return [];
      const known = leases.get(job.attemptId) ?? [];
      let until = known[0]?.until ?? 0;
      for (const { heardAt, until: next } of known)
        if (heardAt <= until + drift + SLACK_MS) until = Math.max(until, next);
      const latest = until + SLACK_MS + drift;
      const stopped = Math.min(
        job.stopAt ?? Number.POSITIVE_INFINITY,
        job.gateAt ?? Number.POSITIVE_INFINITY,
        job.goneAt ?? Number.POSITIVE_INFINITY,
        deathOf(finished, job.session),
      );
      const asleep = history.sleepsOf(job.machine, job.startedAt);
      return stopped <= latest + asleep
        ? []
        : [
            `${job.type} ${job.attemptId} on ${job.machine} went on until ${Math.round(stopped)}, its lease ended at ${Math.round(until)}`,
          ];
    });
  },
};

function deathOf({ history }: Finished, session: string): number {
  const process = history.processes.find((one) => one.session === session);
  return process?.killedAt ?? process?.endedAt ?? Number.POSITIVE_INFINITY;
}
