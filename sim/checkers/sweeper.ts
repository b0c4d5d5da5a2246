import type { Checker } from './index.ts';

/** The clock of a database counts whole milliseconds. */
const SLACK_MS = 5;

export const sweeper: Checker = {
  name: 'sweeper',
  rule: 'no lease expires within a lease of a start of the control plane, and past a gate only after its grace',
  check: ({ history, tasks }) =>
    tasks.flatMap(({ view, events }) => {
      const leases = new Map<string | undefined, number>();
      const wrong: string[] = [];
      for (const { kind, by, at, attemptId, seq, data } of events) {
        if (kind === 'leased') leases.set(attemptId, data.leaseMs);
        if (kind !== 'lost' || by !== 'sweeper') continue;
        const now = Date.parse(at);
        const name = `${view.type} ${view.id}, entry ${seq}: the sweeper ended it`;
        const leaseMs = leases.get(attemptId) ?? 0;
        const started = history.planeStarts.filter((one) => one <= now).at(-1) ?? 0;
        if (now < started + leaseMs - SLACK_MS)
          wrong.push(`${name} ${now - started} ms after a start, with a lease of ${leaseMs} ms`);
        const grace = data.gatePassed ? view.policy.lostGraceMs : 0;
        const waited = now - Date.parse(data.leaseRanOutAt);
        if (waited < grace - SLACK_MS)
          wrong.push(`${name} ${waited} ms after its lease, with a grace of ${grace} ms`);
      }
      return wrong;
    }),
};
