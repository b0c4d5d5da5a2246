import { reportsSeen } from './reports-seen.ts';
import type { Finished } from './simulation.ts';

/** What a worker was told of each lease, in the order in which it heard it. */
export function leasesOf({
  history,
}: Pick<Finished, 'history'>): Map<string, { heardAt: number; until: number }[]> {
  const leases = new Map<string, { heardAt: number; until: number }[]>();
  const told = (attemptId: string, heardAt: number, until: number) =>
    leases.set(attemptId, [...(leases.get(attemptId) ?? []), { heardAt, until }]);
  for (const { path, arrivals, deliveredAt, sentAt } of history.calls) {
    if (path !== '/claims' || deliveredAt === undefined) continue;
    const { attempts = [], waitedMs = 0 } = (arrivals[0]?.answer ?? {}) as {
      attempts?: { attemptId: string; leaseMs: number }[];
      waitedMs?: number;
    };
    // Whatever it says of its wait, they were granted before it answered.
    const from = Math.min(sentAt + waitedMs, arrivals[0]?.at ?? sentAt);
    for (const { attemptId, leaseMs } of attempts) told(attemptId, deliveredAt, from + leaseMs);
  }
  for (const { call, attemptId, status, answer } of reportsSeen(history))
    if (status === 200 && call.deliveredAt !== undefined && typeof answer?.leaseMs === 'number')
      told(attemptId, call.deliveredAt, call.sentAt + answer.leaseMs);
  for (const known of leases.values()) known.sort((a, b) => a.heardAt - b.heardAt);
  return leases;
}
