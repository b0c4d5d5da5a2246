import { leasesOf } from '../leases-told.ts';
import type { Checker } from './index.ts';

/** Rounding, and what a clock that drifts makes of a lease. */
const SLACK_MS = 50;

export const gateAlive: Checker = {
  name: 'gate-alive',
  rule: 'a gate opens only while the lease is known to live, also where its answer was long on the way',
  check: (finished) => {
    const { history, rates } = finished;
    const leases = leasesOf(finished);
    return history.jobs.flatMap(({ attemptId, effectSafety, effectGate, type, ...job }) => {
      if (effectSafety !== 'non-idempotent') return [];
      const opened = effectGate === 'start' ? job.startedAt : job.gateAt;
      if (opened === undefined) return [];
      const known = (leases.get(attemptId) ?? []).filter(({ heardAt }) => heardAt <= opened);
      const until = Math.max(0, ...known.map((one) => one.until));
      return opened <= until + SLACK_MS + rates.drift * 30_000
        ? []
        : [
            `the ${effectGate} gate of ${type} ${attemptId} opened at ${Math.round(opened)}, its lease ended at ${Math.round(until)}`,
          ];
    });
  },
};
